// Part of the kernels of tiles on matrix units: operands of f32, of each element the higher 11 bits. Requires Scale.

// An element, and four.
alias value = f32;
alias loaded = vec4<f32>;

// Magnitudes below this part of the largest one lose bits, or what is left of them does: exponents of f32 apart.
const RANGE: u32 = 27u;

// The bits of a magnitude that none of four exceeds.
fn magnitude(v: loaded) -> u32 {
    let all = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
    return max(max(all.x, all.y), max(all.z, all.w));
}

// How many of four elements f16 has no room for: if any, all count.
fn strays_of(v: loaded, scale: Scale) -> u32 {
    // 0 becomes the largest number.
    let above_zero = (bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu)) - vec4<u32>(1u);
    let least = min(min(above_zero.x, above_zero.y), min(above_zero.z, above_zero.w));
    return select(0u, 4u, least + 1u < scale.least && least + 1u > 0u);
}

// The nearest numbers of 11 bits. By bits, before they become f16: without that NVIDIA's compiler takes what becomes f16 and f32
// again for what it was, and nothing is left for the lower f16.
fn rounded_11(v: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>((bitcast<vec4<u32>>(v) + vec4<u32>(0x1000u)) & vec4<u32>(0xffffe000u));
}

fn scaled(v: loaded, scale: Scale) -> vec4<f16> {
    // For the same reason numbers below 2^-14 become multiples of 2^-24 here, by a sum that has no more bits. That compiler leaves out
    // what is added and subtracted again, unless a product is added.
    return vec4<f16>(rounded_11(fma(v, vec4<f32>(scale.factor), vec4<f32>(0.75)) - 0.75));
}
