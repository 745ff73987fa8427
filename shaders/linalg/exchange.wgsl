// Computes: rows of B exchanged as the pivots say, in place. One column of one matrix per invocation.
// Bindings: params, b = pivots, out.
// Grid: one invocation per batch * columns, folded.
// Requires: folded.
// Accuracy: exact.

@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups) * WG + lid;
    if id < params.batch * params.columns {
        let matrix = id / params.columns;
        let column = params.b_offset + matrix * params.n * params.columns + id % params.columns;
        for (var k = 0u; k < params.n; k++) {
            let pivot = b[params.a_offset + matrix * params.n + k];
            let upper = out[column + k * params.columns];
            out[column + k * params.columns] = out[column + pivot * params.columns];
            out[column + pivot * params.columns] = upper;
        }
    }
}
