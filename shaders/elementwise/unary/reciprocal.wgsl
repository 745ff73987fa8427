// 1 / x, correctly rounded. Requires functions/divide.wgsl.

fn apply(x: elem) -> elem {
    return divide_f32(1.0, x);
}
