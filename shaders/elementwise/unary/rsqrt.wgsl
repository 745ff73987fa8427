// 1 / sqrt(x): inf for 0, NaN for negative numbers, 0 for inf.

fn apply(x: elem) -> elem {
    let bits = bitcast<u32>(x);
    if is_nan(x) {
        return x;
    }
    if (bits & 0x7fffffffu) == 0u {
        return bitcast<f32>(bitcast<u32>(inf_f32()) | bits);
    }
    if bits > 0x80000000u {
        return nan_f32();
    }
    if bits == 0x7f800000u {
        return 0.0;
    }
    return 1.0 / sqrt(x);
}
