// Window part: where the greatest element lies in its plane, row-major: the first of equals, the first NaN if there is one.
// Accuracy: exact.

const NONE: u32 = 0xffffffffu;

struct Best {
    value: key,
    at: u32,
}

alias acc = Best;

fn start() -> acc {
    return Best(key(), NONE);
}

fn combine(x: acc, y: elem, at: u32) -> acc {
    let value = tie_key(y);
    if x.at == NONE || value > x.value {
        return Best(value, at);
    }
    return x;
}

fn finish(v: acc, count: u32) -> out_elem {
    return bitcast<i32>(v.at);
}
