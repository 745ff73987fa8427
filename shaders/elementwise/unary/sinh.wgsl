// The hyperbolic sine, without cancellation for small x. Requires functions/exp.wgsl, functions/hyperbolic.wgsl.
// Source of the polynomial: Cephes, sinhf.c (Moshier).

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    let magnitude = abs(x);
    if magnitude < 1.0 {
        let z = x * x;
        return ((2.03721912945e-4 * z + 8.33028376239e-3) * z + 1.66667160211e-1) * z * x + x;
    }
    let half = exp_half_f32(magnitude);
    let y = half - 0.25 / half;
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}
