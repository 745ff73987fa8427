// Affine part: times a weight per element of a row, four at once.

@group(0) @binding(3) var<storage, read> b: array<words>;

fn affine4(y: vec4<f32>, first: u32, r: u32) -> vec4<f32> {
    return y * unpack(b[(params.weight_offset + first + min(r, params.len - 4u)) / 4u]);
}
