// Part of the kernel of wide tiles: it computes the tiles that matrix units have flagged (doubt.wgsl).

@group(0) @binding(4) var<storage, read> c: array<u32>;

// Rows and columns of a tile that has a flag: 64 or 128.
override FLAG_SIDE: u32 = 128u;

fn writes(batch: u32, row: u32, col: u32) -> bool {
    if batch >= params.batch || row >= params.m || col >= params.n {
        return false;
    }
    let rows = (params.m + FLAG_SIDE - 1u) / FLAG_SIDE;
    let cols = (params.n + FLAG_SIDE - 1u) / FLAG_SIDE;
    return c[(batch * rows + row / FLAG_SIDE) * cols + col / FLAG_SIDE] != 0u;
}

fn computes(at: vec3<u32>) -> bool {
    let row = at.x * SIDE;
    let col = at.y * SIDE;
    return writes(at.z, row, col) || writes(at.z, row, col + 64u)
        || writes(at.z, row + 64u, col) || writes(at.z, row + 64u, col + 64u);
}
