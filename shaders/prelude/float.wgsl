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

// Whether this adapter converts between f16 and f32 as our integer code does: then its own conversions are used, but for NaN.
override NATIVE_HALVES: bool = false;

// Whether any of these f16, two in a word, is NaN.
fn has_nan_half(w: vec2<u32>) -> bool {
    let above = (w & vec2<u32>(0x7fff7fffu)) + vec2<u32>(0x03ff03ffu);
    return ((above.x | above.y) & 0x80008000u) != 0u;
}
