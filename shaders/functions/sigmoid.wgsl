// 1 / (1 + e^-x) and its product with another number, without overflow; subnormal results may be 0. Requires functions/exp.wgsl.

fn sigmoid_f32(x: f32) -> f32 {
    let z = scaled_exp(1.0, -min(abs(x), 110.0));
    let y = select(z, 1.0, x >= 0.0) / (1.0 + z);
    return select(y, x, is_nan(x));
}

// x times the sigmoid of y, of the same sign: the limit -0.0 for -inf.
fn times_sigmoid(x: f32, y: f32) -> f32 {
    let size = -min(abs(y), 174.0);
    // The product is found before it is scaled, so that it does not suffer from a subnormal sigmoid.
    let small = scaled_exp_far(max(x, -1e30), size);
    let product = select(small, x, y >= 0.0) / (1.0 + scaled_exp(1.0, size));
    return select(product, x, is_nan(x));
}
