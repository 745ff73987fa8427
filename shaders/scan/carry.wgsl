// Carry part: what stands before each chunk, from an earlier pass.

@group(0) @binding(3) var<storage, read> b: array<acc>;

fn carried(chunk: u32) -> acc {
    return b[chunk];
}
