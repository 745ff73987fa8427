// Computes: out[row, col] = 1 where col == row + k, else 0, for a row-major matrix or its elements from `first` on.
// Bindings: params, 1 out.
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: out_elem, out_words, emit.
// Accuracy: exact.

struct Params {
    len: u32,
    offset_out: u32,
    cols: u32,
    first: u32,
    k: i32,
}

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read_write> out: array<out_words>;

fn lane(i: u32) -> out_elem {
    let at = params.first + i;
    let row = at / params.cols;
    let col = at % params.cols;
    return out_elem(bitcast<i32>(col) - bitcast<i32>(row) == params.k);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        let i = vector * 4u;
        emit(vector, vec4<out_elem>(lane(i), lane(i + 1u), lane(i + 2u), lane(i + 3u)));
    }
}
