// The arc sine: NaN beyond 1 and -1. Requires functions/asin.wgsl.

fn apply(x: elem) -> elem {
    let magnitude = abs(x);
    if is_nan(x) || magnitude > 1.0 {
        return nan_f32();
    }
    var y = 0.0;
    if magnitude > 0.5 {
        y = 1.57079633 - 2.0 * asin_small(sqrt(0.5 * (1.0 - magnitude)));
    } else {
        y = asin_small(magnitude);
    }
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}
