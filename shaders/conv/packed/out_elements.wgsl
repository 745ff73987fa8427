// Output part: positions of one filter one by one. Requires writes, emit.

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.m {
        let filter_index = batch * params.m + row;
        for (var i = 0u; i < 4u && col + i < params.n; i++) {
            let image = (col + i) / params.plane;
            if writes(batch, col + i) {
                let to = (image * params.batch * params.m + filter_index) * params.plane + (col + i) % params.plane;
                emit(to, filter_index, v[i]);
            }
        }
    }
}
