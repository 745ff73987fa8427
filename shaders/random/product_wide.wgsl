// Products of words, by 64-bit integers.

// The 64 bits of x * y: low word, high word.
fn wide_product(x: u32, y: u32) -> vec2<u32> {
    let product = u64(x) * u64(y);
    return vec2<u32>(u32(product), u32(product >> 32u));
}
