// Output part: rows of a multiple of four. Requires emit_vec4.

fn emit_row(i: u32, filter_index: u32, v: vec4<acc>, left: u32) {
    emit_vec4(i, filter_index, v);
}
