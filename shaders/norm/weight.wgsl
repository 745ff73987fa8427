// Affine part: times a weight per channel.
// Requires: channels.

@group(0) @binding(3) var<storage, read> b: array<word>;

fn weight_at(at: u32) -> f32 {
    return from_word(b[word_index(at)], at);
}

fn affine4(y: vec4<f32>, first: u32, r: u32) -> vec4<f32> {
    let at = channels(first, r) + params.weight_offset;
    return y * vec4<f32>(weight_at(at.x), weight_at(at.y), weight_at(at.z), weight_at(at.w));
}
