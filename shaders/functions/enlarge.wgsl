// x * 2^64 for |x| < 2^60, exactly: arithmetic on a subnormal number might take it for 0.

fn enlarged(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let size = bits & 0x7fffffffu;
    if size < 0x00800000u {
        // A subnormal is an integer times 2^-149.
        return bitcast<f32>(bitcast<u32>(f32(size) * 2.5849394142282115e-26) | (bits & 0x80000000u));
    }
    return bitcast<f32>(bits + 0x20000000u);
}
