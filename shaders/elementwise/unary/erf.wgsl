// The error function. Requires functions/exp.wgsl, functions/erfc.wgsl, functions/erf.wgsl.

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    let magnitude = abs(x);
    if magnitude < 1.0 {
        return erf_small(x);
    }
    let y = 1.0 - erfc_exact(min(magnitude, 10.0));
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}
