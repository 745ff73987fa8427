// Range part of bf16, which one f16 holds: every element counts.

const MANTISSA: u32 = 7u;

// Of four elements the largest magnitude, and the least above 0, less 1.
fn range_of(w: vec2<u32>) -> vec2<u32> {
    let lower = w & vec2<u32>(0x7fffu);
    let upper = (w >> vec2<u32>(16u)) & vec2<u32>(0x7fffu);
    let high = max(lower, upper);
    let low = min(lower - 1u, upper - 1u);
    return vec2<u32>(max(high.x, high.y), min(low.x, low.y));
}
