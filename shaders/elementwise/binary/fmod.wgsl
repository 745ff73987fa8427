// x - trunc(x / y) * y, exactly; NaN for y == 0 and for infinite x. Requires functions/fmod.wgsl.

fn apply(x: elem, y: elem) -> elem {
    return fmod_f32(x, y);
}
