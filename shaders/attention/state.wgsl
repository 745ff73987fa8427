// State part: the keys before were passed over by other dispatches, and those behind will be.

@group(0) @binding(7) var<storage, read_write> in_5: array<vec4<f32>>;

const ROW_VECTORS: u32 = 5u;

fn begun_row(id: u32) -> Row {
    var row = new_row();
    let at = id * ROW_VECTORS;
    if params.first_key > 0u {
        row.sums = array<vec4<f32>, 4>(in_5[at], in_5[at + 1u], in_5[at + 2u], in_5[at + 3u]);
        row.top = in_5[at + 4u].x;
        row.total = in_5[at + 4u].y;
    }
    return row;
}

// Whether the row goes on in another dispatch.
fn left_row(id: u32, row: Row) -> bool {
    if params.end_key >= params.keys {
        return false;
    }
    let at = id * ROW_VECTORS;
    for (var i = 0u; i < 4u; i++) {
        in_5[at + i] = row.sums[i];
    }
    in_5[at + 4u] = vec4<f32>(row.top, row.total, 0.0, 0.0);
    return true;
}
