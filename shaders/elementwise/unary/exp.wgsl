// e^x. Requires functions/exp.wgsl.

fn apply(x: elem) -> elem {
    return exp_f32(x);
}
