// x / 2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the tanh as a sigmoid of twice its argument, which does not
// cancel; its limit -0.0 for -inf. Requires functions/exp.wgsl, functions/sigmoid.wgsl.

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    if x < -20.0 {
        return -0.0;
    }
    let y = 1.59576912 * (x + 0.044715 * x * x * x);
    return x * sigmoid_f32(y);
}
