// Powers of positive numbers within a few ulp. Requires functions/exp.wgsl, functions/log.wgsl.

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
