// The arc tangent. Requires functions/atan.wgsl.

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    let y = atan_positive(abs(x));
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}
