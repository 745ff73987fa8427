// x * sigmoid(1.702 x); its limit -0.0 for -inf. Requires functions/exp.wgsl, functions/sigmoid.wgsl.

fn apply(x: elem) -> elem {
    if x < -65.0 {
        return -0.0;
    }
    return x * sigmoid_f32(1.702 * x);
}
