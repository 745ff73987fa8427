// Computes: out[batch, row, col] = a[batch, row, col] as bare bits, where a's neighbours in memory are rows and out's are columns:
//           tiles of 64 x 64 elements through workgroup memory.
// Bindings: params, a, out (declared by the read and write parts).
// Grid: row_tiles * col_tiles * batch workgroups, folded, those of neighbouring columns side by side.
// Requires: read4 (read part); write4 (write part). Workgroups of 256.
// Accuracy: exact.

override WG: u32 = 256u;
override BATCH_AXES: u32 = 0u;

const SIDE: u32 = 64u;

var<workgroup> tile_bits: array<u32, 4096>;

// Where the tile has an element, counted from its corner: columns side by side, each with its rows in an order of its own, so that
// neighbouring columns of a row are in different banks.
fn place(row: u32, col: u32) -> u32 {
    return col * SIDE + (row ^ ((col / 4u) * 2u));
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = group.x + (group.y + group.z * groups.y) * groups.x;
    let per_batch = params.row_tiles * params.col_tiles;
    let live = id < per_batch * params.batch;
    var source = params.offset_a;
    var sink = params.offset_out;
    var rest = id / per_batch;
    for (var d = 0u; d < BATCH_AXES; d++) {
        let axis = params.axes[d];
        let outer = rest / axis.x;
        source += (rest - outer * axis.x) * axis.y;
        sink += (rest - outer * axis.x) * axis.z;
        rest = outer;
    }
    let first_row = ((id % per_batch) / params.col_tiles) * SIDE;
    let first_col = (id % params.col_tiles) * SIDE;

    // Neighbours read neighbouring rows.
    for (var n = 0u; n < 4u; n++) {
        let row = (lid % 16u) * 4u;
        let col = lid / 16u + n * 16u;
        if live && first_row + row < params.rows && first_col + col < params.cols {
            let v = read4(source + (first_col + col) * params.a_col, first_row + row);
            tile_bits[place(row, col)] = v.x;
            tile_bits[place(row + 1u, col)] = v.y;
            tile_bits[place(row + 2u, col)] = v.z;
            tile_bits[place(row + 3u, col)] = v.w;
        }
    }
    workgroupBarrier();
    // Neighbours write neighbouring columns.
    for (var n = 0u; n < 4u; n++) {
        let col = (lid % 16u) * 4u;
        let row = lid / 16u + n * 16u;
        if live && first_row + row < params.rows && first_col + col < params.cols {
            let last = min(SIDE, params.cols - first_col) - 1u;
            let v = vec4<u32>(
                tile_bits[place(row, col)],
                tile_bits[place(row, min(col + 1u, last))],
                tile_bits[place(row, min(col + 2u, last))],
                tile_bits[place(row, min(col + 3u, last))],
            );
            write4(sink + (first_row + row) * params.out_row, first_col + col, v);
        }
    }
}
