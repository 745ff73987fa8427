// NaN and infinity by bits: WGSL has no literals for them and lets compilers assume that they do not occur.
// A module variable is not a constant expression, so no compiler front end can reject or fold these values.

var<private> nan_bits: u32 = 0x7fc00000u;
var<private> inf_bits: u32 = 0x7f800000u;

fn nan_f32() -> f32 {
    return bitcast<f32>(nan_bits);
}

fn inf_f32() -> f32 {
    return bitcast<f32>(inf_bits);
}

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
