// Key part: floats as unsigned integers in the same order, by bits: -0 is 0, NaN above everything.

fn sort_key(x: elem) -> u32 {
    let bits = bitcast<u32>(x);
    let magnitude = bits & 0x7fffffffu;
    if magnitude > 0x7f800000u {
        return 0xffffffffu;
    }
    if magnitude == 0u {
        return 0x80000000u;
    }
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}
