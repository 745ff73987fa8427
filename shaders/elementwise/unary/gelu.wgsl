// x * Phi(x), with Phi the normal distribution function, by erfc so that the lower tail keeps its digits; its limit
// -0.0 for -inf. Requires functions/exp.wgsl, functions/erfc.wgsl.

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    if x < -14.5 {
        return -0.0;
    }
    let tail = 0.5 * erfc_positive(abs(x) * 0.70710678);
    return x * select(tail, 1.0 - tail, x >= 0.0);
}
