// The angle of the point (y, x), in (-pi, pi], all signs of zero and infinities as in IEEE 754. The first operand is y.
// Requires functions/atan.wgsl.

fn apply(y: elem, x: elem) -> elem {
    if is_nan(x) || is_nan(y) {
        return nan_f32();
    }
    let size_x = abs(x);
    let size_y = abs(y);
    var high = max(size_x, size_y);
    var low = min(size_x, size_y);
    // WGSL divides accurately by divisors up to 2^126.
    if high > 1e37 {
        high *= 0.125;
        low *= 0.125;
    } else if high < 1e-30 {
        high *= 1.2676506e30;
        low *= 1.2676506e30;
    }
    var ratio = 0.0;
    if bitcast<u32>(low) == 0x7f800000u {
        ratio = 1.0;
    } else if high > 0.0 {
        ratio = low / high;
    }
    var angle = atan_positive(ratio);
    if size_y > size_x {
        angle = 1.57079633 - angle;
    }
    if bitcast<u32>(x) >= 0x80000000u {
        angle = 3.14159265 - angle;
    }
    return bitcast<f32>(bitcast<u32>(angle) | (bitcast<u32>(y) & 0x80000000u));
}
