// Functions for results that are stored with 11 bits or fewer (f16, bf16), by the adapter's exp2, which WGSL allows to be off by
// 3 + 2 |x| ulp: at most 2^-17 of the result where |x| is below 16, 2^-14 at the ends of bf16's range.

// 2^(2 half), also where that is subnormal or infinite.
fn exp2_of_twice(half: f32) -> f32 {
    let root = exp2(half);
    return root * root;
}

// 1 / (1 + e^-x); subnormal results may be 0.
fn sigmoid_narrow(x: f32) -> f32 {
    let z = exp2(-1.44269504 * min(abs(x), 110.0));
    let y = select(z, 1.0, x >= 0.0) / (1.0 + z);
    return select(y, x, is_nan(x));
}

// x times the sigmoid of y, of the same sign: the limit -0.0 for -inf.
fn times_sigmoid_narrow(x: f32, y: f32) -> f32 {
    // The root of e^-|y|, by which x is multiplied twice: their product may be normal where e^-|y| is not.
    let root = exp2(-0.72134752 * min(abs(y), 220.0));
    let small = max(x, -1e30) * root * root;
    let product = select(small, x, y >= 0.0) / (1.0 + root * root);
    return select(product, x, is_nan(x));
}
