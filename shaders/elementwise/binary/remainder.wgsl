// x - floor(x / y) * y, with the sign of y; NaN for y == 0 and for infinite x. Requires functions/fmod.wgsl.

fn apply(x: elem, y: elem) -> elem {
    let rest = fmod_f32(x, y);
    let bits = bitcast<u32>(rest);
    let apart = ((bits ^ bitcast<u32>(y)) >> 31u) == 1u;
    if (bits & 0x7fffffffu) == 0u {
        return bitcast<f32>(bitcast<u32>(y) & 0x80000000u);
    }
    return select(rest, rest + y, apart);
}
