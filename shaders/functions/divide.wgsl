// The quotient of two f32 as IEEE 754 has it: correctly rounded to nearest, ties to even, for all operands, subnormals too.
// WGSL's own division may be 2.5 units in the last place off, and anything for divisors beyond 2^126: on some GPUs
// inf / 3.4e38 is NaN. So only mantissas are divided in floating point, and the residual, exact in integers, corrects the result.

// A quotient of mantissas times 2^23, rounded to nearest, and `numerator * 2^23 - value * divisor`.
struct MantissaQuotient {
    value: u32,
    rest: i32,
}

// Of a mantissa of 24 bits, or twice one with `lower` 1, from `divisor` to below twice that, and `divisor` from 2^23 to below 2^24.
fn mantissa_quotient(mantissa: u32, lower: u32, divisor: u32) -> MantissaQuotient {
    let numerator = mantissa << lower;
    // Mantissas of 24 bits are the bits of themselves as f32, but for the exponent 23: conversions run at an eighth of the rate.
    let reciprocal = 1.0 / bitcast<f32>(divisor + 0x4a800000u);
    let product = bitcast<f32>(mantissa + 0x4a800000u + (lower << 23u)) * reciprocal * 8388608.0;
    // A few units off at most, so that the residual fits in 32 bits although its terms do not.
    let near = bitcast<u32>(product) - 0x4a800000u;
    let residual = bitcast<i32>((numerator << 23u) - near * divisor);
    let step = i32(f32(residual) * reciprocal);
    let rest = residual - step * bitcast<i32>(divisor);
    // No tie can occur: it would need a divisor of 25 bits.
    let correction = select(0, 1, 2 * rest > bitcast<i32>(divisor)) - select(0, 1, 2 * rest < -bitcast<i32>(divisor));
    return MantissaQuotient(
        near + bitcast<u32>(step + correction),
        rest - correction * bitcast<i32>(divisor),
    );
}

fn divide_f32(x: f32, y: f32) -> f32 {
    let a = bitcast<u32>(x);
    let b = bitcast<u32>(y);
    let exponent_a = (a >> 23u) & 0xffu;
    let exponent_b = (b >> 23u) & 0xffu;
    let mantissa_a = (a & 0x7fffffu) | 0x800000u;
    let mantissa_b = (b & 0x7fffffu) | 0x800000u;
    let lower = select(0u, 1u, mantissa_a < mantissa_b);
    let exponent = exponent_a - exponent_b + 127u - lower;
    // All three are those of normal numbers; 0 wraps to a large number.
    if max(max(exponent_a - 1u, exponent_b - 1u), exponent - 1u) < 254u {
        let value = mantissa_quotient(mantissa_a, lower, mantissa_b).value;
        return bitcast<f32>(((a ^ b) & 0x80000000u) + (exponent << 23u) + value - 0x800000u);
    }
    return divide_rare(a, b);
}

// A finite magnitude above 0 as mantissa * 2^(exponent - 150), the mantissa from 2^23 to below 2^24.
struct Normalised {
    mantissa: u32,
    exponent: i32,
}

fn normalised(bits: u32) -> Normalised {
    if bits >= 0x800000u {
        return Normalised((bits & 0x7fffffu) | 0x800000u, bitcast<i32>(bits >> 23u));
    }
    let shift = countLeadingZeros(bits) - 8u;
    return Normalised(bits << shift, 1 - bitcast<i32>(shift));
}

// Zeros, subnormals, infinities, NaN, and results that are none of the normal numbers, all by bits.
fn divide_rare(a: u32, b: u32) -> f32 {
    let sign = (a ^ b) & 0x80000000u;
    let size_a = a & 0x7fffffffu;
    let size_b = b & 0x7fffffffu;
    if max(size_a, size_b) > 0x7f800000u || (size_a == size_b && (size_a == 0u || size_a == 0x7f800000u)) {
        return nan_f32();
    }
    if size_a == 0x7f800000u || size_b == 0u {
        return bitcast<f32>(sign | 0x7f800000u);
    }
    if size_b == 0x7f800000u || size_a == 0u {
        return bitcast<f32>(sign);
    }
    let p = normalised(size_a);
    let q = normalised(size_b);
    let lower = select(0u, 1u, p.mantissa < q.mantissa);
    let exponent = p.exponent - q.exponent + 127 - bitcast<i32>(lower);
    let quotient = mantissa_quotient(p.mantissa, lower, q.mantissa);
    if exponent >= 255 {
        return bitcast<f32>(sign | 0x7f800000u);
    }
    if exponent > 0 {
        return bitcast<f32>(sign + (bitcast<u32>(exponent) << 23u) + quotient.value - 0x800000u);
    }
    // A subnormal result has fewer bits: those below are rounded off, together with the sign of the residual.
    let shift = bitcast<u32>(min(1 - exponent, 26));
    let kept = quotient.value >> shift;
    let below = quotient.value & ((1u << shift) - 1u);
    let half = 1u << (shift - 1u);
    let tie = below == half;
    let up = below > half || (tie && (quotient.rest > 0 || (quotient.rest == 0 && (kept & 1u) == 1u)));
    return bitcast<f32>(sign | (kept + select(0u, 1u, up)));
}
