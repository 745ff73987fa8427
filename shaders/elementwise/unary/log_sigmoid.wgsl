// ln(1 / (1 + e^-x)). Requires functions/exp.wgsl, functions/log.wgsl, functions/log1p.wgsl, functions/softplus.wgsl.

fn apply(x: elem) -> elem {
    return -softplus_f32(-x);
}
