// Part of the kernels of tiles on matrix units: no sum is in doubt.

// The magnitude below which sums may be off, 0 for none.
fn doubtful(at: vec3<u32>, lid: u32) -> f32 {
    return 0.0;
}

fn doubt(to: Strip, row: u32, col: u32, sums: coop_mat16x16<f32, C>, least: f32) {}

// Whether the sums of a tile are to be written.
fn written(at: vec3<u32>, live: bool, lid: u32) -> bool {
    return live;
}
