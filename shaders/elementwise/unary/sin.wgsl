// The sine of an angle in radians; NaN for inf. Requires functions/trig.wgsl.

fn apply(x: elem) -> elem {
    if !is_finite(x) {
        return nan_f32();
    }
    let y = sin_angle(reduce_angle(abs(x)));
    return bitcast<f32>(bitcast<u32>(y) ^ (bitcast<u32>(x) & 0x80000000u));
}
