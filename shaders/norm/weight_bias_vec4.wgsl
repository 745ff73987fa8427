// Affine part: times a weight, plus a bias, per element of a row, four at once.

@group(0) @binding(3) var<storage, read> b: array<words>;
@group(0) @binding(4) var<storage, read> c: array<words>;

fn affine4(y: vec4<f32>, first: u32, r: u32) -> vec4<f32> {
    // Past the end of the row, the last four.
    let channel = first + min(r, params.len - 4u);
    return y * unpack(b[(params.weight_offset + channel) / 4u]) + unpack(c[(params.bias_offset + channel) / 4u]);
}
