// x * sigmoid(x); its limit -0.0 for -inf. Requires functions/exp.wgsl, functions/sigmoid.wgsl.

fn apply(x: elem) -> elem {
    return times_sigmoid(x, x);
}
