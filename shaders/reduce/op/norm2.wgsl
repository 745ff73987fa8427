// Operator part: square root of the sum of squares. Requires `apply`: the square root.
// Accuracy: (n + 2) ε |out| over n elements, then one rounding to the dtype.

alias acc = f32;

fn start() -> acc {
    return 0.0;
}

fn lift(x: elem) -> acc {
    return x * x;
}

fn combine(x: acc, y: acc) -> acc {
    return x + y;
}

fn finish(v: acc) -> out_elem {
    return apply(v);
}
