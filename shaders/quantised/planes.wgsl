// Shared by the formats of blocks: words, halves and bytes of planes. A plane has the same field of every block, row by row.
// Requires blocks (operand part), Params of params.wgsl, from_word_scale.

// Word `i` of a plane.
fn word_at(plane: u32, i: u32) -> u32 {
    return blocks[plane + (i >> 2u)][i & 3u];
}

// The f16 number `i` of a plane.
fn half_at(plane: u32, i: u32) -> f32 {
    return from_word_scale(word_at(plane, i >> 1u), i);
}

// The bytes of a word; what is above each is still there.
fn shifted(w: u32) -> vec4<u32> {
    return vec4<u32>(w) >> vec4<u32>(0u, 8u, 16u, 24u);
}

// The bytes of a word as integers with a sign.
fn signed_bytes(w: u32) -> vec4<i32> {
    return bitcast<vec4<i32>>(vec4<u32>(w) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}
