// Computes: out[batch, row, col] = a[batch, row, col] as bare bits, where a's neighbours in memory are rows and out's are columns:
//           four rows of four columns by each invocation, which reads vectors of rows and writes vectors of columns.
// Bindings: params, a, out (declared by the read and write parts).
// Grid: row_tiles * col_tiles * batch workgroups of 64 x 64 elements, folded, those of neighbouring columns side by side.
// Requires: read4 (read part); write4 (write part). Workgroups of 256.
// Accuracy: exact.

override WG: u32 = 256u;
override BATCH_AXES: u32 = 0u;

const SIDE: u32 = 64u;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = group.x + (group.y + group.z * groups.y) * groups.x;
    let per_batch = params.row_tiles * params.col_tiles;
    // 8 invocations side by side read neighbours, and those of every eighth write neighbours: with 32 of them in a subgroup both
    // sides touch whole sectors of the cache.
    let row = ((id % per_batch) / params.col_tiles) * SIDE + 4u * (lid % 8u + 8u * ((lid / 32u) % 2u));
    let col = (id % params.col_tiles) * SIDE + 4u * ((lid / 8u) % 4u + 4u * (lid / 64u));
    if id >= per_batch * params.batch || row >= params.rows || col >= params.cols {
        return;
    }
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
    // Past the last column, that of the last column.
    let cols = source + min(vec4<u32>(col, col + 1u, col + 2u, col + 3u), vec4<u32>(params.cols - 1u)) * params.a_col;
    let x = read4(cols.x, row);
    let y = read4(cols.y, row);
    let z = read4(cols.z, row);
    let w = read4(cols.w, row);
    let first = sink + row * params.out_row;
    write4(first, col, vec4<u32>(x.x, y.x, z.x, w.x));
    if row + 1u < params.rows {
        write4(first + params.out_row, col, vec4<u32>(x.y, y.y, z.y, w.y));
    }
    if row + 2u < params.rows {
        write4(first + 2u * params.out_row, col, vec4<u32>(x.z, y.z, z.z, w.z));
    }
    if row + 3u < params.rows {
        write4(first + 3u * params.out_row, col, vec4<u32>(x.w, y.w, z.w, w.w));
    }
}
