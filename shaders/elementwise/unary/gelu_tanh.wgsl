// x / 2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the tanh as a sigmoid of twice its argument, which does not
// cancel; its limit -0.0 for -inf. Requires functions/exp.wgsl, functions/sigmoid.wgsl.

fn apply(x: elem) -> elem {
    return times_sigmoid(x, 1.59576912 * (x + 0.044715 * x * x * x));
}
