// Part of the kernel of wide tiles: it computes every tile.

fn computes(at: vec3<u32>) -> bool {
    return true;
}
