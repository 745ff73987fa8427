// Shared by the formats of blocks: halves of planes, and integers of bytes as numbers. A plane has the same field of every block,
// row by row. Requires blocks_at, word_at (operand part), Params of params.wgsl, from_word_scale.

// 16 numbers of a row, one vector of four elements after the other.
struct Run {
    v0: vec4<f32>,
    v1: vec4<f32>,
    v2: vec4<f32>,
    v3: vec4<f32>,
}

// The f16 number `i` of a plane.
fn half_at(plane: u32, i: u32) -> f32 {
    return from_word_scale(word_at(plane, i >> 1u), i);
}

// The bytes of a word less `zero`, exactly: the second and the fourth come 256 times, which `spread` takes back. As the low bits of
// 2^23 they need no conversion, of which GPUs do few at a time.
fn numbers_of(bytes: u32, zero: f32) -> vec4<f32> {
    let pairs = vec2<u32>(bytes, bytes >> 16u);
    let even = bitcast<vec2<f32>>((pairs & vec2<u32>(0xffu)) | vec2<u32>(0x4b000000u));
    let odd = bitcast<vec2<f32>>((pairs & vec2<u32>(0xff00u)) | vec2<u32>(0x4b000000u));
    let low = even - (8388608.0 + zero);
    let high = odd - (8388608.0 + 256.0 * zero);
    return vec4<f32>(low.x, high.x, low.y, high.y);
}

// What numbers of bytes are multiplied by.
fn spread(scale: f32) -> vec4<f32> {
    let part = scale * 0.00390625;
    return vec4<f32>(scale, part, scale, part);
}

// A scale times the bytes less `zero`.
fn scaled(scale: f32, bytes: vec4<u32>, zero: f32) -> Run {
    let by = spread(scale);
    return Run(
        by * numbers_of(bytes.x, zero),
        by * numbers_of(bytes.y, zero),
        by * numbers_of(bytes.z, zero),
        by * numbers_of(bytes.w, zero),
    );
}

// A scale times the bytes, and a number more.
fn scaled_from(scale: f32, bytes: vec4<u32>, least: f32) -> Run {
    let by = spread(scale);
    return Run(
        by * numbers_of(bytes.x, 0.0) + least,
        by * numbers_of(bytes.y, 0.0) + least,
        by * numbers_of(bytes.z, 0.0) + least,
        by * numbers_of(bytes.w, 0.0) + least,
    );
}
