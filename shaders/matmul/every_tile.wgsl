// Part of the kernels of large tiles: they compute every tile.

fn computes(at: vec3<u32>) -> bool {
    return true;
}

// Whether the 64 x 64 outputs of it at a row and column are written.
fn writes(batch: u32, row: u32, col: u32) -> bool {
    return true;
}
