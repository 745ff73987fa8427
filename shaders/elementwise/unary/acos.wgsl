// The arc cosine: NaN beyond 1 and -1, without cancellation near 1. Requires functions/asin.wgsl.

fn apply(x: elem) -> elem {
    let magnitude = abs(x);
    if is_nan(x) || magnitude > 1.0 {
        return nan_f32();
    }
    if magnitude <= 0.5 {
        return select(1.57079633 - asin_small(x), 1.57079633 + asin_small(magnitude), x < 0.0);
    }
    let y = 2.0 * asin_small(sqrt(0.5 * (1.0 - magnitude)));
    return select(y, 3.14159265 - y, x < 0.0);
}
