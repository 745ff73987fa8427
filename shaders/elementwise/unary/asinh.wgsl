// The inverse hyperbolic sine, without cancellation for small x. Requires functions/log.wgsl.
// Source of the polynomial: Cephes, asinhf.c (Moshier).

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    let magnitude = abs(x);
    var y = 0.0;
    if magnitude < 0.5 {
        let z = magnitude * magnitude;
        let p = ((2.0122003309e-2 * z - 4.2699340972e-2) * z + 7.4847586088e-2) * z - 1.6666288134e-1;
        y = p * z * magnitude + magnitude;
    } else if magnitude > 1500.0 {
        y = log_f32(magnitude) + 0.69314718;
    } else {
        y = log_f32(magnitude + sqrt(magnitude * magnitude + 1.0));
    }
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}
