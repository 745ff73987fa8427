// x^y by the rules of IEEE 754: x^0 and 1^y are 1 even for NaN, a negative x needs an integral y.
// Requires functions/pow.wgsl.

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
        result = pow_natural(bitcast<f32>(size_x), u32(y));
    } else {
        // Not by `abs`, which may take a subnormal number for 0.
        result = pow_positive(bitcast<f32>(size_x), y);
    }
    return bitcast<f32>(bitcast<u32>(result) | sign);
}
