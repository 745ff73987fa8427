// x * sigmoid(x) for results of 16 bits; its limit -0.0 for -inf. Requires functions/narrow.wgsl.

fn apply(x: elem) -> elem {
    return times_sigmoid_narrow(x, x);
}
