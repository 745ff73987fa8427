// x^y by the rules of IEEE 754: x^0 and 1^y are 1 even for NaN, a negative x needs an integral y.
// Requires functions/exp.wgsl, functions/log.wgsl.

// x^n for a small natural n, rounded once per multiplication.
fn pow_natural(x: f32, n: u32) -> f32 {
    var result = 1.0;
    var power = x;
    for (var rest = n; rest > 0u; rest >>= 1u) {
        if (rest & 1u) == 1u {
            result *= power;
        }
        power *= power;
    }
    return result;
}

// x^y for positive finite x and finite y: 2^(y * e) * 2^(y * log2(mantissa)). The first exponent is exact: y is
// split by bits into 12 + 12, and e has at most 8.
fn pow_positive(x: f32, y: f32) -> f32 {
    let parts = log_parts(x);
    let rough = y * (parts.e + log2_mantissa(parts));
    if rough >= 129.0 {
        return inf_f32();
    }
    if rough < -151.0 {
        return 0.0;
    }
    let y_high = bitcast<f32>(bitcast<u32>(y) & 0xfffff000u);
    let whole = floor(y_high * parts.e + 0.5);
    let fraction = (y_high * parts.e - whole) + (y - y_high) * parts.e + y * log2_mantissa(parts);
    let extra = floor(fraction + 0.5);
    let exponent = whole + extra;
    let result = exp_reduced((fraction - extra) * 0.69314718);
    if exponent > 250.0 {
        return inf_f32();
    }
    if exponent < -250.0 {
        return 0.0;
    }
    return scale_by_power(result, exponent);
}

fn apply(x: elem, y: elem) -> elem {
    let size_x = bitcast<u32>(x) & 0x7fffffffu;
    let size_y = bitcast<u32>(y) & 0x7fffffffu;
    if size_y == 0u || bitcast<u32>(x) == 0x3f800000u {
        return 1.0;
    }
    if is_nan(x) || is_nan(y) {
        return nan_f32();
    }
    let grows = bitcast<u32>(y) < 0x80000000u;
    if size_y == 0x7f800000u {
        if size_x == 0x3f800000u {
            return 1.0;
        }
        return select(0.0, inf_f32(), (size_x > 0x3f800000u) == grows);
    }
    // From 2^24 on every float is an even integer.
    let integral = size_y >= 0x4b800000u || floor(y) == y;
    let odd = integral && size_y < 0x4b800000u && (u32(abs(y)) & 1u) == 1u;
    let sign = select(0u, bitcast<u32>(x) & 0x80000000u, odd);
    var result = 0.0;
    if size_x == 0u {
        result = select(inf_f32(), 0.0, grows);
    } else if size_x == 0x7f800000u {
        result = select(0.0, inf_f32(), grows);
    } else if !integral && bitcast<u32>(x) >= 0x80000000u {
        return nan_f32();
    } else if integral && grows && size_y <= 0x41000000u {
        result = pow_natural(abs(x), u32(y));
    } else {
        result = pow_positive(abs(x), y);
    }
    return bitcast<f32>(bitcast<u32>(result) | sign);
}
