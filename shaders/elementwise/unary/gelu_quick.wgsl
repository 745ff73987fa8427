// x * sigmoid(1.702 x); its limit -0.0 for -inf. Requires functions/exp.wgsl, functions/sigmoid.wgsl.

fn apply(x: elem) -> elem {
    return times_sigmoid(x, 1.702 * x);
}
