// The square root of an f32 as IEEE 754 has it: correctly rounded, for all operands, subnormals too; NaN below 0, -0.0 of -0.0.
// WGSL's own may be several units in the last place off: the residual, exact in integers, corrects it.

fn sqrt_f32(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) == 0u || bits == 0x7f800000u {
        return x;
    }
    // Negative numbers and NaN of either sign.
    if bits > 0x7f800000u {
        return nan_f32();
    }
    // The number is mantissa * 2^(exponent - 150), the mantissa from 2^23; a subnormal's is moved up.
    let shift = select(countLeadingZeros(bits) - 8u, 0u, bits >= 0x800000u);
    let mantissa = select(bits << shift, (bits & 0x7fffffu) | 0x800000u, bits >= 0x800000u);
    let exponent = bitcast<i32>(max(bits >> 23u, 1u) - shift);
    // With an even power of two besides, the root of number * 2^23 has 24 bits.
    let number = mantissa << ((bitcast<u32>(exponent) & 1u) ^ 1u);
    let near = u32(sqrt(2.0 * f32(number)) * 2048.0);
    // A few units off at most, so that the residual fits in 32 bits although its terms do not.
    let residual = bitcast<i32>((number << 23u) - near * near);
    let step = i32(f32(residual) * (0.5 / f32(near)));
    let root = bitcast<i32>(near) + step;
    let rest = residual - step * (2 * bitcast<i32>(near) + step);
    // (root + 1/2)^2 is root^2 + root + 1/4.
    let rounded = root + select(0, 1, rest > root) - select(0, 1, rest <= -root);
    return bitcast<f32>((bitcast<u32>((exponent + 127) >> 1u) << 23u) + bitcast<u32>(rounded) - 0x800000u);
}
