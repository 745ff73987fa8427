// Operator part: arithmetic mean; NaN over an empty extent.

alias acc = f32;

fn start() -> acc {
    return acc();
}

fn lift(x: elem) -> acc {
    return x;
}

fn combine(x: acc, y: acc) -> acc {
    return x + y;
}

fn finish(v: acc) -> out_elem {
    if params.count == 0u {
        return nan_f32();
    }
    return v / f32(params.count);
}
