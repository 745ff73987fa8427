// Part of the kernels of tiles on matrix units: operands of bf16, which f16 has room for within 2^32 of the largest one. Requires Scale.

// Four elements.
alias loaded = vec2<u32>;

// Magnitudes below this part of the largest one lose bits: exponents of f32 apart.
const RANGE: u32 = 31u;

// The bits, as f32, of a magnitude that none of four exceeds in its exponent.
fn magnitude(v: loaded) -> u32 {
    let high = v & vec2<u32>(0x7fffffffu);
    let low = (v << vec2<u32>(16u)) & vec2<u32>(0x7fffffffu);
    let all = max(high, low);
    return max(all.x, all.y);
}

// How many of four elements f16 has no room for.
fn strays_of(v: loaded, scale: Scale) -> u32 {
    let magnitudes = v & vec2<u32>(0x7fff7fffu);
    let above_zero = magnitudes + vec2<u32>(0x7fff7fffu);
    // 2^15 less the least magnitude, twice.
    let enough = magnitudes + vec2<u32>(0x80008000u - (scale.least >> 16u) * 0x10001u);
    let counts = countOneBits(above_zero & ~enough & vec2<u32>(0x80008000u));
    return counts.x + counts.y;
}

fn scaled(v: loaded, scale: Scale) -> vec4<f16> {
    let low = bitcast<vec2<f32>>(v << vec2<u32>(16u));
    let high = bitcast<vec2<f32>>(v & vec2<u32>(0xffff0000u));
    return vec4<f16>(vec4<f32>(low.x, high.x, low.y, high.y) * scale.factor);
}
