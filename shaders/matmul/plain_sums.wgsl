// Part of the kernels on matrix units: sums are as they come.

fn restored(batch: u32, row: u32, col: u32, v: vec4<acc>) -> vec4<acc> {
    return v;
}

// Whether the sums of a tile are to be written.
fn fitted(at: vec3<u32>, live: bool, lid: u32) -> bool {
    return live;
}
