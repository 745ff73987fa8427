// Part of the kernels of tiles on matrix units: all entries of the batch have the same inner extent.

fn depth_of(entry: u32) -> u32 {
    return params.k;
}
