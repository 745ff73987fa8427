// 1 / (1 + e^-x) for results of 16 bits. Requires functions/narrow.wgsl.

fn apply(x: elem) -> elem {
    return sigmoid_narrow(x);
}
