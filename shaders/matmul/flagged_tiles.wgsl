// Part of the kernel of wide tiles: it computes the tiles with a flagged line, which matrix units leave out.

fn computes(at: vec3<u32>) -> bool {
    return is_flagged(at.z, at.x * SIDE, at.y * SIDE);
}

// All outputs of such a tile.
fn writes(batch: u32, row: u32, col: u32) -> bool {
    return true;
}
