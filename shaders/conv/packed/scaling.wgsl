// Shared by what scales operands by powers of two for f16.

// What numbers without a scale of their own have: that of 2^14.
const PLAIN: u32 = 141u;

// The exponent of the largest magnitude that is scaled to [2^14, 2^15), by its bits.
fn exponent(largest: u32) -> u32 {
    let e = largest >> 23u;
    return select(PLAIN, e, e >= 28u);
}

// 2^(141 - e).
fn factor(e: u32) -> f32 {
    return bitcast<f32>((268u - e) << 23u);
}

// Whether f16 has room for a number of these bits of a magnitude.
fn fits(magnitude: u32, e: u32, largest: u32) -> bool {
    return magnitude == 0u || (magnitude < 0x7f800000u && largest >= 0x0e000000u && (magnitude >> 23u) + 27u >= e);
}
