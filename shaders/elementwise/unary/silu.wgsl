// x * sigmoid(x); its limit -0.0 for -inf. Requires functions/exp.wgsl, functions/sigmoid.wgsl.

fn apply(x: elem) -> elem {
    if x < -110.0 {
        return -0.0;
    }
    return x * sigmoid_f32(x);
}
