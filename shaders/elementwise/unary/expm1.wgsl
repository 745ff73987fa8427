// e^x - 1. Requires functions/exp.wgsl, functions/expm1.wgsl.

fn apply(x: elem) -> elem {
    return expm1_f32(x);
}
