// x * Phi(x), with Phi the normal distribution function, by erfc so that the lower tail keeps its digits; its limit
// -0.0 for -inf. Requires functions/exp.wgsl, functions/erfc.wgsl.

fn apply(x: elem) -> elem {
    // Beyond, the tail is 0.
    let size = min(abs(x), 15.0);
    let z = size * 0.70710678;
    let t = 1.0 / (1.0 + 0.5 * z);
    // size * Phi(-size)
    let tail = scaled_exp(0.5 * t * size, erfc_fit(t) - z * z);
    // Zeros keep their sign, which compilers may lose in the difference.
    let is_zero = (bitcast<u32>(x) << 1u) == 0u;
    return select(select(-tail, x - tail, x >= 0.0), x, is_nan(x) || is_zero);
}
