// Head part of tile.wgsl: those that matrix.wgsl leaves out. Requires is_flagged.

fn takes(share: Share) -> bool {
    return is_flagged(share);
}
