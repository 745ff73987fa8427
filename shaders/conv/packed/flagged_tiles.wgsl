// Part of the kernel of wide tiles: it computes the 128 x 128 outputs with flagged positions or filters, which matrix units
// leave out. Flags come first among what packing left.

@group(0) @binding(4) var<storage, read> c: array<u32>;

fn computes(at: vec3<u32>) -> bool {
    let positions = min(at.z, params.groups - 1u) * params.tiles_n + at.y;
    let filters = params.groups * params.tiles_n + min(at.z, params.groups - 1u) * params.tiles_m + at.x;
    return (c[positions] | c[filters]) != 0u;
}

// All outputs of such a tile.
fn writes(batch: u32, row: u32, col: u32) -> bool {
    return true;
}
