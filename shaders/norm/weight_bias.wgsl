// Affine part: times a weight, plus a bias, per channel.
// Requires: channels.

@group(0) @binding(3) var<storage, read> b: array<word>;
@group(0) @binding(4) var<storage, read> c: array<word>;

fn weight_at(at: u32) -> f32 {
    return from_word(b[word_index(at)], at);
}

fn bias_at(at: u32) -> f32 {
    return from_word(c[word_index(at)], at);
}

fn affine4(y: vec4<f32>, first: u32, r: u32) -> vec4<f32> {
    let channel = channels(first, r);
    let w = channel + params.weight_offset;
    let d = channel + params.bias_offset;
    return y * vec4<f32>(weight_at(w.x), weight_at(w.y), weight_at(w.z), weight_at(w.w))
        + vec4<f32>(bias_at(d.x), bias_at(d.y), bias_at(d.z), bias_at(d.w));
}
