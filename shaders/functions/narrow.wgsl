// Functions for results that are stored with 11 bits or fewer (f16, bf16), by the adapter's exp2, which WGSL allows to be off by
// 3 + 2 |x| ulp: at most 2^-17 of the result where |x| is below 16, 2^-14 at the ends of bf16's range. Requires needs_nan.

// 2^(2 half), also where that is subnormal or infinite.
fn exp2_of_twice(half: f32) -> f32 {
    let root = exp2(half);
    return root * root;
}

// 1 / (1 + e^-x); subnormal results may be 0.
fn sigmoid_narrow(x: f32) -> f32 {
    let z = exp2(-1.44269504 * min(abs(x), 110.0));
    let y = select(z, 1.0, x >= 0.0) / (1.0 + z);
    return select(y, x, needs_nan(x));
}

// x times the sigmoid of y, of the same sign: the limit -0.0 for -inf. A quotient, whose divisor is scaled where its reciprocal
// would be subnormal: a product with e^y that is grouped to keep its digits there is regrouped by compilers.
fn times_sigmoid_narrow(x: f32, y: f32) -> f32 {
    let power = min(max(-1.44269504 * y, -100.0), 149.5);
    let is_far = power > 64.0;
    let scale = select(1.0, 5.9604645e-8, is_far); // 2^-24
    let divisor = exp2(select(power, power - 24.0, is_far)) + scale;
    let product = max(x, -1000.0) * scale / divisor;
    return select(product, x, needs_nan(x));
}
