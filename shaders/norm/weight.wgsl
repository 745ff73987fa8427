// Affine part: times a weight per channel.

@group(0) @binding(3) var<storage, read> b: array<word>;

fn affine(y: f32, channel: u32) -> f32 {
    let at = params.weight_offset + channel;
    return y * from_word(b[word_index(at)], at);
}
