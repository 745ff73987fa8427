// Window part: the sum of the elements by the divisor, or by the number of counted positions (0 where none is counted).
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

alias acc = f32;

fn start() -> acc {
    return 0.0;
}

fn combine(x: acc, y: elem, at: u32) -> acc {
    return x + y;
}

fn finish(v: acc, count: u32) -> out_elem {
    return v / f32(select(max(count, 1u), params.divisor, params.divisor > 0u));
}
