// How scales reach the sums of four columns: from storage. Requires row_exponent, col_exponent, scaled_lines.wgsl, written.

fn restored(batch: u32, row: u32, col: u32, v: vec4<acc>) -> vec4<acc> {
    let of_columns = vec4<i32>(
        col_exponent(batch, col),
        col_exponent(batch, col + 1u),
        col_exponent(batch, col + 2u),
        col_exponent(batch, col + 3u),
    );
    return times_power(v, of_columns + vec4<i32>(row_exponent(batch, row)));
}

// Whether the sums of a tile are to be written.
fn fitted(at: vec3<u32>, live: bool, lid: u32) -> bool {
    return written(at, live, lid);
}
