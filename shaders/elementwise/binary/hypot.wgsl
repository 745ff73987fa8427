// sqrt(x^2 + y^2) without overflow or underflow of the squares; inf beats NaN. Requires functions/exp.wgsl.

fn apply(x: elem, y: elem) -> elem {
    let size_x = bitcast<u32>(x) & 0x7fffffffu;
    let size_y = bitcast<u32>(y) & 0x7fffffffu;
    if size_x == 0x7f800000u || size_y == 0x7f800000u {
        return inf_f32();
    }
    if is_nan(x) || is_nan(y) {
        return nan_f32();
    }
    let high = max(size_x, size_y);
    if min(size_x, size_y) == 0u {
        return bitcast<f32>(high);
    }
    // Both by the power of two that brings the larger one near 1.
    let exponent = f32(high >> 23u) - 127.0;
    let a = scale_by_power(abs(x), -exponent);
    let b = scale_by_power(abs(y), -exponent);
    return scale_by_power(sqrt(a * a + b * b), exponent);
}
