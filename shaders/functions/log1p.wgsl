// ln(1 + x) with all digits near 0. Requires functions/log.wgsl.

fn log1p_f32(x: f32) -> f32 {
    // Here 1 + x needs no sum: x is the fraction that the logarithm starts from.
    if x > -0.29 && x < 0.41 {
        return x + log_tail(x);
    }
    return log_f32(1.0 + x);
}
