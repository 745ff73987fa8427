// 2^x. Requires functions/exp.wgsl.

fn apply(x: elem) -> elem {
    return exp2_f32(x);
}
