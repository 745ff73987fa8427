// Shared by Q4_K and Q5_K: scales and minima of the groups of 32 elements, 6 bits each, in the last three words of a block's header; the
// first word has the scales of both. Requires from_word_scale.

// The scale of a group, and what is added: less its minimum.
fn group_of(header: vec4<u32>, group: u32) -> vec2<f32> {
    let words = header.yzw >> vec3<u32>((group & 3u) * 8u);
    var own = words.xy & vec2<u32>(63u);
    if group >= 4u {
        own = (vec2<u32>(words.z, words.z >> 4u) & vec2<u32>(15u)) | ((words.xy >> vec2<u32>(2u)) & vec2<u32>(48u));
    }
    return vec2<f32>(from_word_scale(header.x, 0u) * f32(own.x), -(from_word_scale(header.x, 1u) * f32(own.y)));
}
