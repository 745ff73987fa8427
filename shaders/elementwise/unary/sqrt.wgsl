// The square root: NaN for negative numbers, -0.0 for -0.0.

fn apply(x: elem) -> elem {
    let bits = bitcast<u32>(x);
    if bits == 0x7f800000u || (bits & 0x7fffffffu) == 0u || is_nan(x) {
        return x;
    }
    if bits > 0x80000000u {
        return nan_f32();
    }
    return sqrt(x);
}
