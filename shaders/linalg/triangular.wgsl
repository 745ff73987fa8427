// Computes: X with T X = B in place of B, T the upper or lower triangle of A, its diagonal taken as ones if `unit`.
//           One column of one matrix per invocation.
// Bindings: params, a, out = b.
// Grid: one invocation per batch * columns, folded; one dispatch after the other for steps from `first` up to `end`.
// Requires: folded.
// Accuracy: 64 n ε (1 + |out|) for well-conditioned matrices of n rows.

@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups) * WG + lid;
    if id < params.batch * params.columns {
        let n = params.n;
        let matrix = params.a_offset + (id / params.columns) * n * n;
        let column = params.b_offset + (id / params.columns) * n * params.columns + id % params.columns;
        for (var step = params.first; step < params.end; step++) {
            let i = select(step, n - 1u - step, params.upper == 1u);
            let first = select(0u, i + 1u, params.upper == 1u);
            var sum = out[column + i * params.columns];
            for (var j = first; j < first + step; j++) {
                sum -= a[matrix + i * n + j] * out[column + j * params.columns];
            }
            if params.unit == 0u {
                sum = divide_f32(sum, a[matrix + i * n + i]);
            }
            out[column + i * params.columns] = sum;
        }
    }
}
