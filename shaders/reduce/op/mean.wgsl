// Operator part: arithmetic mean; NaN over an empty extent.
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

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
