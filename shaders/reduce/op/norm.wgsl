// Operator part: (sum |x|^p)^(1/p); `identity` holds the bits of p. Requires `apply`: x^y.
// Accuracy: (n + 2) ε (1 + 8 / |p|) |out| over n elements, then one rounding to the dtype.

alias acc = f32;

fn start() -> acc {
    return 0.0;
}

fn lift(x: elem) -> acc {
    return apply(abs(x), bitcast<f32>(params.identity));
}

fn combine(x: acc, y: acc) -> acc {
    return x + y;
}

fn finish(v: acc) -> out_elem {
    return apply(v, 1.0 / bitcast<f32>(params.identity));
}
