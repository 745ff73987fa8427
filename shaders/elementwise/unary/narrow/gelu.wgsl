// x * Phi(x) for results of 16 bits; its limit -0.0 for -inf.
// Source of the form: Press et al., Numerical Recipes, "erfcc", here as a power of two; the polynomial is fitted to 2^-17, for
// t = 1 / (1 + |x| / sqrt(8)) from 0.15 to 1.

fn apply(x: elem) -> elem {
    // Beyond, the tail is 0.
    let size = min(abs(x), 15.0);
    let t = 1.0 / (1.0 + 0.35355339 * size);
    var p = 0.33007521;
    p = p * t - 1.02314788;
    p = p * t + 0.68455098;
    p = p * t + 0.36708286;
    p = p * t + 1.46868336;
    p = p * t - 1.82723355;
    // size * Phi(-size)
    let tail = 0.5 * t * size * exp2(p - 0.72134752 * size * size);
    // Of the same sign as x, zeros too.
    let y = bitcast<u32>(max(x, 0.0) - tail) | (bitcast<u32>(x) & 0x80000000u);
    return select(bitcast<f32>(y), x, needs_nan(x));
}
