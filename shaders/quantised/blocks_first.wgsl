// Operand part: the planes of blocks are the first operand.

@group(0) @binding(1) var<storage, read> a: array<vec4<u32>>;

// Vector `i` of the planes.
fn blocks_at(i: u32) -> vec4<u32> {
    return a[i];
}

// Word `i` of a plane.
fn word_at(plane: u32, i: u32) -> u32 {
    return a[plane + (i >> 2u)][i & 3u];
}
