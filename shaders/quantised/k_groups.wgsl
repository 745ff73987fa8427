// Shared by Q4_K and Q5_K: scales and minima of the groups of 32 elements, 6 bits each, in the last three words of a block's header; the
// first word has the scales of both. Requires from_word_scale.

struct Groups {
    scale: vec2<f32>,
    least: vec2<f32>,
}

// Those of groups 2 `pair` and 2 `pair` + 1.
fn groups_of(header: vec4<u32>, pair: u32) -> Groups {
    let words = header.yzw >> vec3<u32>((pair & 1u) * 16u);
    var scales = words.x & 0x3f3fu;
    var minima = words.y & 0x3f3fu;
    if pair >= 2u {
        scales = (words.z & 0x0f0fu) | ((words.x >> 2u) & 0x3030u);
        minima = ((words.z >> 4u) & 0x0f0fu) | ((words.y >> 2u) & 0x3030u);
    }
    let bytes = vec2<u32>(0u, 8u);
    let own = vec2<f32>((vec2<u32>(scales) >> bytes) & vec2<u32>(63u));
    let minimum = vec2<f32>((vec2<u32>(minima) >> bytes) & vec2<u32>(63u));
    return Groups(from_word_scale(header.x, 0u) * own, from_word_scale(header.x, 1u) * minimum);
}
