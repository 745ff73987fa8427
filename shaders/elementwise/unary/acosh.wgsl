// The inverse hyperbolic cosine: NaN below 1, without cancellation just above. Requires functions/log.wgsl.
// Source of the polynomial: Cephes, acoshf.c (Moshier).

fn apply(x: elem) -> elem {
    if is_nan(x) || x < 1.0 {
        return nan_f32();
    }
    if x > 1500.0 {
        return log_f32(x) + 0.69314718;
    }
    let z = x - 1.0;
    if z < 0.5 {
        let p = (((1.7596881071e-3 * z - 7.5272886713e-3) * z + 2.6454905019e-2) * z - 1.1784741703e-1) * z;
        return (p + 1.4142135263) * sqrt(z);
    }
    return log_f32(x + sqrt(z * (x + 1.0)));
}
