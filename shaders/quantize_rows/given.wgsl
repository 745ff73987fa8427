// Place part: the row of each batch and head goes to the position that the index of the batch names.
// Requires: position of index/position.wgsl.

@group(0) @binding(4) var<storage, read> b: array<u32>;

fn place(batch: u32, i: u32) -> u32 {
    return position(b[params.positions_offset + batch * params.positions_stride], params.capacity);
}
