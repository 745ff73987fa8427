// ln(1 + e^x) without overflow. Requires functions/exp.wgsl, functions/log.wgsl, functions/log1p.wgsl.

fn softplus_f32(x: f32) -> f32 {
    if is_nan(x) {
        return x;
    }
    return max(x, 0.0) + log1p_f32(exp_f32(-abs(x)));
}
