// The inverse hyperbolic tangent: infinite at 1 and -1, NaN beyond, without cancellation for small x.
// Source of the polynomial: Cephes, atanhf.c (Moshier). Requires functions/log.wgsl, functions/log1p.wgsl.

fn apply(x: elem) -> elem {
    let magnitude = abs(x);
    if is_nan(x) || magnitude > 1.0 {
        return nan_f32();
    }
    if magnitude < 0.5 {
        let z = x * x;
        let p = ((1.81740078349e-1 * z + 8.24370301058e-2) * z + 1.46691431730e-1) * z + 1.99782164500e-1;
        return (p * z + 3.33337300303e-1) * z * x + x;
    }
    var y = inf_f32();
    if magnitude < 1.0 {
        y = 0.5 * log1p_f32(2.0 * magnitude / (1.0 - magnitude));
    }
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}
