// The hyperbolic cosine. Requires functions/exp.wgsl, functions/hyperbolic.wgsl.

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    let half = exp_half_f32(abs(x));
    return half + 0.25 / half;
}
