// Operator part: the greatest key so far and where it stood; among equal keys the last.
// Requires: tie_key, key (key part).

struct Extreme {
    best: key,
    at: u32,
}

alias acc = Extreme;

const NONE: u32 = 0xffffffffu;

fn combine(x: acc, y: acc) -> acc {
    var winner = x;
    if y.at != NONE && (x.at == NONE || y.best >= x.best) {
        winner = y;
    }
    return winner;
}

fn finish(v: acc) -> out_elem {
    return bitcast<i32>(v.at);
}

fn identity() -> acc {
    return Extreme(key(), NONE);
}
