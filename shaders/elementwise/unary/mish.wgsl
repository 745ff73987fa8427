// x * tanh(softplus(x)), as a quotient in e^-|x|, which neither overflows nor cancels; its limit -0.0 for -inf.
// Requires functions/exp.wgsl.

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    if x < -110.0 {
        return -0.0;
    }
    let z = exp_f32(-abs(x));
    let above = 1.0 + 2.0 * z;
    let below = z * (z + 2.0);
    return x * select(below / (below + 2.0), above / (above + 2.0 * z * z), x >= 0.0);
}
