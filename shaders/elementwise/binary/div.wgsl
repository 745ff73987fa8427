// x / y, correctly rounded. Requires functions/divide.wgsl.

fn apply(x: elem, y: elem) -> elem {
    return divide_f32(x, y);
}
