// The cosine of an angle in radians; NaN for inf. Requires functions/trig.wgsl.

fn apply(x: elem) -> elem {
    if !is_finite(x) {
        return nan_f32();
    }
    let angle = reduce_angle(abs(x));
    return sin_angle(Angle(angle.r, angle.quadrant + 1u));
}
