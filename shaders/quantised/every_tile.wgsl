// Part of products with blocks: a workgroup has one tile.

fn tiles_of(id: u32, lid: u32) -> u32 {
    return 1u;
}

// The first row of x and the first of w of tile `i`.
fn tile_at(id: u32, i: u32) -> vec2<u32> {
    return vec2<u32>(id / params.along * LINES, id % params.along * TILES * OWN);
}
