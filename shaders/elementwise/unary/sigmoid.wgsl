// 1 / (1 + e^-x). Requires functions/exp.wgsl, functions/sigmoid.wgsl.

fn apply(x: elem) -> elem {
    return sigmoid_f32(x);
}
