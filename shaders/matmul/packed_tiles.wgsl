// Part of the kernels on matrix units: operands are packed, and tiles with a flagged line are left out.

fn computes(at: vec3<u32>) -> bool {
    return !is_flagged(at.z, at.x * SIDE, at.y * SIDE);
}

// The exponents of what a row and a column of the result are multiplied by; those of lines behind the last are not used.
fn row_exponent(batch: u32, row: u32) -> i32 {
    let line = min(row, params.m - 1u);
    return c[(batch * blocks_of(params.m) + line / 16u) * 17u + line % 16u];
}

fn col_exponent(batch: u32, col: u32) -> i32 {
    let line = min(col, params.n - 1u);
    return c[(params.batch * blocks_of(params.m) + batch * blocks_of(params.n) + line / 16u) * 17u + line % 16u];
}
