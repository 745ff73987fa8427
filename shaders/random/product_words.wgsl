// Products of words, by words.

// The 64 bits of x * y: low word, high word.
fn wide_product(x: u32, y: u32) -> vec2<u32> {
    let x_low = x & 0xffffu;
    let y_low = y & 0xffffu;
    let lows = x_low * y_low;
    let mixed = (x >> 16u) * y_low + (lows >> 16u);
    let other = x_low * (y >> 16u) + (mixed & 0xffffu);
    return vec2<u32>(x * y, (x >> 16u) * (y >> 16u) + (mixed >> 16u) + (other >> 16u));
}
