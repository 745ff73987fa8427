// Range part of f32, which two f16 hold but for what lies below 2^-50 of the largest element: of four neighbours the largest one
// counts, so that what an element loses is little compared with that one.

const MANTISSA: u32 = 23u;

// Of four elements the largest magnitude, twice, the second time less 1.
fn range_of(v: vec4<f32>) -> vec2<u32> {
    let four = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
    let largest = max(max(four.x, four.y), max(four.z, four.w));
    return vec2<u32>(largest, largest - 1u);
}
