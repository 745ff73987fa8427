// The tangent of an angle in radians; NaN for inf. Requires functions/trig.wgsl.
// Source of the polynomial: Cephes, tanf.c (Moshier).

fn apply(x: elem) -> elem {
    if !is_finite(x) {
        return nan_f32();
    }
    let angle = reduce_angle(abs(x));
    let r = angle.r;
    let z = r * r;
    var p = 9.38540185543e-3;
    p = p * z + 3.11992232697e-3;
    p = p * z + 2.44301354525e-2;
    p = p * z + 5.34112807005e-2;
    p = p * z + 1.33387994085e-1;
    p = p * z + 3.33331568548e-1;
    var y = p * z * r + r;
    if (angle.quadrant & 1u) == 1u {
        y = -1.0 / y;
    }
    return bitcast<f32>(bitcast<u32>(y) ^ (bitcast<u32>(x) & 0x80000000u));
}
