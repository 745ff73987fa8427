// x - trunc(x), with the sign of x; NaN for inf.

fn apply(x: elem) -> elem {
    if (bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u {
        return nan_f32();
    }
    return bitcast<f32>(bitcast<u32>(abs(x - trunc(x))) | (bitcast<u32>(x) & 0x80000000u));
}
