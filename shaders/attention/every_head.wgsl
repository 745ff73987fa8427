// Head part of tile.wgsl: all heads.

fn takes(share: Share) -> bool {
    return true;
}
