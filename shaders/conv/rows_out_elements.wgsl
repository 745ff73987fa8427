// Output part: rows of any length. Requires emit.

fn emit_row(i: u32, filter_index: u32, v: vec4<acc>, left: u32) {
    for (var j = 0u; j < 4u && j < left; j++) {
        emit(i + j, filter_index, v[j]);
    }
}
