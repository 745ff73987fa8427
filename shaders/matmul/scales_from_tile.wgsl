// How scales reach the sums of four columns: exponents of a tile's lines stand in workgroup memory where its operands stood, so that
// nobody waits for storage between the matrices that are written. Requires row_exponent, col_exponent, scaled_lines.wgsl, cooperative.wgsl, written.

fn row_exponents(batch: u32, row: u32) -> vec4<i32> {
    return vec4<i32>(
        row_exponent(batch, row),
        row_exponent(batch, row + 1u),
        row_exponent(batch, row + 2u),
        row_exponent(batch, row + 3u),
    );
}

fn col_exponents(batch: u32, col: u32) -> vec4<i32> {
    return vec4<i32>(
        col_exponent(batch, col),
        col_exponent(batch, col + 1u),
        col_exponent(batch, col + 2u),
        col_exponent(batch, col + 3u),
    );
}

// Whether the sums of a tile are to be written; its operands are not needed any more. Exponents are exact in f16.
fn fitted(at: vec3<u32>, live: bool, lid: u32) -> bool {
    let batch = min(at.z, params.batch - 1u);
    if lid < ACROSS {
        tile_a[lid] = vec4<f16>(row_exponents(batch, at.x * SIDE + lid * 4u));
    } else if lid < 2u * ACROSS {
        tile_b[lid - ACROSS] = vec4<f16>(col_exponents(batch, at.y * SIDE + (lid - ACROSS) * 4u));
    }
    workgroupBarrier();
    return written(at, live, lid);
}

fn restored(batch: u32, row: u32, col: u32, v: vec4<acc>) -> vec4<acc> {
    let of_row = i32(tile_a[row % SIDE / 4u][row % 4u]);
    return times_power(v, vec4<i32>(tile_b[col % SIDE / 4u]) + vec4<i32>(of_row));
}
