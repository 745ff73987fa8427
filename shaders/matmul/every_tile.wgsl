// Part of the kernels of large tiles: they compute every tile.

fn computes(at: vec3<u32>) -> bool {
    return true;
}
