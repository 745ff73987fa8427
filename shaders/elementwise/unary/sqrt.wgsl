// The square root, correctly rounded: NaN for negative numbers, -0.0 for -0.0. Requires functions/sqrt.wgsl.

fn apply(x: elem) -> elem {
    return sqrt_f32(x);
}
