// Output part: four positions of one filter at a time; an image has a multiple of four. Requires writes, emit_vec4.

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.m && col < params.n && writes(batch, col) {
        let filter_index = batch * params.m + row;
        let image = col / params.plane;
        emit_vec4((image * params.batch * params.m + filter_index) * params.plane + col % params.plane, filter_index, v);
    }
}
