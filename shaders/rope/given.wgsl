// Position part: positions are given per batch and element; those outside of the table take its nearest row.

@group(0) @binding(5) var<storage, read> in_3: array<i32>;

fn table_row(batch: u32, i: u32) -> u32 {
    let position = in_3[params.ids_offset + batch * params.batch_step + i];
    return min(u32(max(position, 0)), params.table_rows - 1u);
}
