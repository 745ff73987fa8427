// x * Phi(x), with Phi the normal distribution function, by erfc so that the lower tail keeps its digits; its limit
// -0.0 for -inf. Requires functions/exp.wgsl, functions/erfc.wgsl, needs_nan.

fn apply(x: elem) -> elem {
    // Beyond, the tail is 0.
    let size = min(abs(x), 15.0);
    let t = 1.0 / (1.0 + 0.35355339 * size);
    // size * Phi(-size)
    let tail = scaled_exp(0.5 * t * size, erfc_fit(t) - 0.5 * size * size);
    // Of the same sign as x, zeros too.
    let y = bitcast<u32>(max(x, 0.0) - tail) | (bitcast<u32>(x) & 0x80000000u);
    return select(bitcast<f32>(y), x, needs_nan(x));
}
