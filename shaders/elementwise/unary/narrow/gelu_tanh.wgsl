// x / 2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) for results of 16 bits, the tanh as a sigmoid of twice its argument; its limit
// -0.0 for -inf. Requires functions/narrow.wgsl.

fn apply(x: elem) -> elem {
    return times_sigmoid_narrow(x, 1.59576912 * (x + 0.044715 * x * x * x));
}
