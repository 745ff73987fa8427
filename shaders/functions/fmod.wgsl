// The remainder of a division truncated toward zero, exact by integers for all magnitudes, subnormals included.

// A finite magnitude as mantissa * 2^(exponent - 150), the exponent at least 1.
struct Magnitude {
    mantissa: u32,
    exponent: u32,
}

fn magnitude_of(bits: u32) -> Magnitude {
    let exponent = bits >> 23u;
    let mantissa = bits & 0x7fffffu;
    return Magnitude(select(mantissa, mantissa | 0x800000u, exponent > 0u), max(exponent, 1u));
}

fn fmod_f32(x: f32, y: f32) -> f32 {
    let size_x = bitcast<u32>(x) & 0x7fffffffu;
    let size_y = bitcast<u32>(y) & 0x7fffffffu;
    if size_x >= 0x7f800000u || size_y > 0x7f800000u || size_y == 0u {
        return nan_f32();
    }
    if size_x < size_y {
        return x;
    }
    let a = magnitude_of(size_x);
    let b = magnitude_of(size_y);
    var rest = a.mantissa % b.mantissa;
    // A rest has at most 24 bits: eight more fit at a time.
    for (var left = a.exponent - b.exponent; left > 0u && rest > 0u;) {
        let step = min(left, 8u);
        rest = (rest << step) % b.mantissa;
        left -= step;
    }
    let sign = bitcast<u32>(x) & 0x80000000u;
    if rest == 0u {
        return bitcast<f32>(sign);
    }
    let shift = min(firstLeadingBit(0x800000u) - firstLeadingBit(rest), b.exponent - 1u);
    let mantissa = rest << shift;
    // A mantissa without its leading bit is a subnormal, whose exponent is stored as 0.
    let exponent = select(0u, b.exponent - shift, mantissa >= 0x800000u);
    return bitcast<f32>(sign | (exponent << 23u) | (mantissa & 0x7fffffu));
}
