// Window part: the greatest element by key; NaN wins, padding does not take part.
// Accuracy: exact.

alias acc = key;

fn start() -> acc {
    return bitcast<acc>(params.identity);
}

fn combine(x: acc, y: elem, at: u32) -> acc {
    return max(x, to_key(y));
}

fn finish(v: acc, count: u32) -> out_elem {
    return from_key(v);
}
