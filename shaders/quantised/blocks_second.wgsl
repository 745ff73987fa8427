// Operand part: the planes of blocks are the second operand.

@group(0) @binding(2) var<storage, read> b: array<vec4<u32>>;

// Vector `i` of the planes.
fn blocks_at(i: u32) -> vec4<u32> {
    return b[i];
}

// Word `i` of a plane.
fn word_at(plane: u32, i: u32) -> u32 {
    return b[plane + (i >> 2u)][i & 3u];
}
