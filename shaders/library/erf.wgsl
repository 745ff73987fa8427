// The error function of any number, NaN kept: erf_f32(x). Requires functions/exp.wgsl, functions/erfc.wgsl, functions/erf.wgsl.

fn erf_f32(x: f32) -> f32 {
    if (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u {
        return x;
    }
    let magnitude = abs(x);
    if magnitude < 1.0 {
        return erf_small(x);
    }
    let y = 1.0 - erfc_exact(min(magnitude, 10.0));
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}
