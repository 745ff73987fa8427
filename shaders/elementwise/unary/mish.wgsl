// x * tanh(softplus(x)), as a quotient in e^-|x|, which neither overflows nor cancels; its limit -0.0 for -inf.
// Requires functions/exp.wgsl.

fn apply(x: elem) -> elem {
    let size = -min(abs(x), 174.0);
    let z = scaled_exp(1.0, size);
    let above = 1.0 + 2.0 * z;
    // x times z is found before it is scaled, so that it does not suffer from a subnormal z.
    let below = scaled_exp_far(max(x, -1e30), size) * (z + 2.0) / (z * (z + 2.0) + 2.0);
    let y = select(below, x * (above / (above + 2.0 * z * z)), x >= 0.0);
    return select(y, x, is_nan(x));
}
