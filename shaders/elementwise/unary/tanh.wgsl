// The hyperbolic tangent: no overflow for large x, no cancellation for small x. Requires functions/exp.wgsl.
// Source of the polynomial: Cephes, tanhf.c (Moshier).

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    let magnitude = min(abs(x), 15.0);
    var y = 1.0 - 2.0 / (exp_f32(2.0 * magnitude) + 1.0);
    if magnitude < 0.625 {
        let z = magnitude * magnitude;
        y = -5.70498872745e-3;
        y = y * z + 2.06390887954e-2;
        y = y * z - 5.37397155531e-2;
        y = y * z + 1.33314422036e-1;
        y = y * z - 3.33332819422e-1;
        y = y * z * magnitude + magnitude;
    }
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}
