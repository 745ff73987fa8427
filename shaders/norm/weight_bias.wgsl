// Affine part: times a weight, plus a bias, per channel.

@group(0) @binding(3) var<storage, read> b: array<word>;
@group(0) @binding(4) var<storage, read> c: array<word>;

fn affine(y: f32, channel: u32) -> f32 {
    let weight_at = params.weight_offset + channel;
    let bias_at = params.bias_offset + channel;
    return y * from_word(b[word_index(weight_at)], weight_at) + from_word(c[word_index(bias_at)], bias_at);
}
