// Shared by the kernels of tiles on matrix units: how matrices of sums are written. Requires restored and emit4.

// A matrix of sums of each subgroup. With more of them fewer workgroups would fit a multiprocessor.
var<workgroup> partial_sums: array<vec4<f32>, 256>;

// Where a subgroup's outputs are, and which invocation of it this is.
struct Strip {
    batch: u32,
    row: u32,
    col: u32,
    first: u32,
    lane: u32,
    live: bool,
}

// Writes the matrix at a row and column of the subgroup's outputs.
fn emit_strip(to: Strip, row: u32, col: u32) {
    if to.live {
        for (var q = to.lane; q < 64u; q += 32u) {
            let at = vec2<u32>(to.row + row + q / 4u, to.col + col + (q % 4u) * 4u);
            emit4(to.batch, at.x, at.y, restored(to.batch, at.x, at.y, partial_sums[to.first + q]));
        }
    }
}
