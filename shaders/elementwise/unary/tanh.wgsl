// The hyperbolic tangent: no overflow for large x, no cancellation for small x. Requires functions/exp.wgsl, needs_nan.
// Source of the polynomial: Cephes, tanhf.c (Moshier).

fn apply(x: elem) -> elem {
    let magnitude = min(abs(x), 15.0);
    // (1 - z) / (1 + z) without its cancellation.
    let z = scaled_exp(1.0, -2.0 * magnitude);
    let far = 1.0 - 2.0 * z / (1.0 + z);
    let s = magnitude * magnitude;
    var near = -5.70498872745e-3;
    near = near * s + 2.06390887954e-2;
    near = near * s - 5.37397155531e-2;
    near = near * s + 1.33314422036e-1;
    near = near * s - 3.33332819422e-1;
    near = near * s * magnitude + magnitude;
    let y = bitcast<u32>(select(far, near, magnitude < 0.625)) | (bitcast<u32>(x) & 0x80000000u);
    return select(bitcast<f32>(y), x, needs_nan(x));
}
