// The error function for |x| < 1, and erfc for x >= 0 with the square of x in two parts, so that the exponential keeps its
// digits. Source of the polynomial: Cephes, ndtrf.c (Moshier). Requires functions/exp.wgsl, functions/erfc.wgsl.

fn erf_small(x: f32) -> f32 {
    let z = x * x;
    var p = 7.853861353153693e-5;
    p = p * z - 8.010193625184903e-4;
    p = p * z + 5.188327685732524e-3;
    p = p * z - 2.685381193529856e-2;
    p = p * z + 1.128358514861418e-1;
    p = p * z - 3.761262582423300e-1;
    p = p * z + 1.128379165726710;
    return x * p;
}

fn erfc_exact(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.5 * x);
    let high = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
    return t * exp_f32(-high * high) * exp_f32(erfc_fit(t) - (x - high) * (x + high));
}
