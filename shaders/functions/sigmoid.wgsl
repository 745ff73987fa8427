// 1 / (1 + e^-x) without overflow. Requires exp_f32.

fn sigmoid_f32(x: f32) -> f32 {
    if is_nan(x) {
        return x;
    }
    let z = exp_f32(-abs(x));
    return select(z, 1.0, x >= 0.0) / (1.0 + z);
}
