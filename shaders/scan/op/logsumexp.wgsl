// Operator part: log(exp(x) + exp(y)) without leaving the range of floats. Requires functions/exp.wgsl, functions/log.wgsl.

alias acc = f32;

fn lift(x: elem) -> acc {
    return x;
}

// log(1 + e) for e in [0, 1].
fn log_of_one_and(e: f32) -> f32 {
    let u = 1.0 + e;
    let parts = log_parts(u);
    let whole = (parts.f + (parts.y - 2.12194440e-4 * parts.e)) + 0.693359375 * parts.e;
    // What the sum lost to rounding.
    return whole + (e - (u - 1.0)) / u;
}

fn combine(x: acc, y: acc) -> acc {
    if is_nan(x) || is_nan(y) {
        return nan_f32();
    }
    let high = max(x, y);
    if (bitcast<u32>(high) & 0x7fffffffu) == 0x7f800000u {
        return high;
    }
    return high + log_of_one_and(exp_f32(min(x, y) - high));
}

fn finish(v: acc) -> out_elem {
    return out_elem(v);
}

fn identity() -> acc {
    return -inf_f32();
}
