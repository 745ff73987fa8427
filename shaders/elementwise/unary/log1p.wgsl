// ln(1 + x): -inf for -1, NaN below. Requires functions/log.wgsl, functions/log1p.wgsl.

fn apply(x: elem) -> elem {
    return log1p_f32(x);
}
