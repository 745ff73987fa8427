// The nearest integer, halves to even, the sign kept also for zero. Not `round`: HLSL's rounds halves away from zero.

fn apply(x: elem) -> elem {
    let magnitude = abs(x);
    // From 2^23 on (and for inf and NaN) there is no fraction to round.
    if (bitcast<u32>(x) & 0x7fffffffu) >= 0x4b000000u {
        return x;
    }
    let below = floor(magnitude);
    let rest = magnitude - below;
    let odd = (u32(below) & 1u) == 1u;
    let rounded = below + f32(rest > 0.5 || (rest == 0.5 && odd));
    return bitcast<f32>(bitcast<u32>(rounded) | (bitcast<u32>(x) & 0x80000000u));
}
