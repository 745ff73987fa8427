// Part of the kernels on matrix units: sums are as they come.

fn restored(batch: u32, row: u32, col: u32, v: vec4<acc>) -> vec4<acc> {
    return v;
}
