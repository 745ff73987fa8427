// x * Phi(x) for results of 16 bits; its limit -0.0 for -inf.
// Source of the form: Press et al., Numerical Recipes, "erfcc"; the polynomial is fitted to 2^-17, for t = 1 / (1 + z / 2) from 0.15 to 1.

fn apply(x: elem) -> elem {
    // Beyond, the tail is 0.
    let size = min(abs(x), 15.0);
    let z = size * 0.70710678;
    let t = 1.0 / (1.0 + 0.5 * z);
    var p = 0.22879070;
    p = p * t - 0.70919207;
    p = p * t + 0.47449458;
    p = p * t + 0.25444245;
    p = p * t + 1.01801373;
    p = p * t - 1.26654178;
    // size * Phi(-size)
    let tail = 0.5 * t * size * exp2((p - z * z) * 1.44269504);
    // Zeros keep their sign, which compilers may lose in the difference.
    let is_zero = (bitcast<u32>(x) << 1u) == 0u;
    return select(select(-tail, x - tail, x >= 0.0), x, is_nan(x) || is_zero);
}
