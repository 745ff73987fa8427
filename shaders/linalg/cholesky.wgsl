// Computes: A = L Lᵀ, reading the lower triangle of A, in place; above the diagonal are zeros. One matrix per workgroup.
//           A matrix that is not positive definite gives NaN from the first bad pivot on.
// Bindings: params, out = matrices.
// Grid: one workgroup per matrix, folded; one dispatch after the other for columns from `first` up to `end`.
// Requires: folded.
// Accuracy: 32 n ε (1 + |out|) for well-conditioned matrices of n rows.

@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let n = params.n;
    let live = id < params.batch;
    let base = params.a_offset + id * n * n;
    for (var k = params.first; k < params.end; k++) {
        if live && lid == 0u {
            let pivot = out[base + k * n + k];
            // Not `pivot <= 0`: NaN stays NaN either way.
            out[base + k * n + k] = select(nan_f32(), sqrt_f32(max(pivot, 0.0)), pivot > 0.0 && !is_nan(pivot));
        }
        storageBarrier();
        workgroupBarrier();
        if live {
            let diagonal = out[base + k * n + k];
            for (var i = k + 1u + lid; i < n; i += WG) {
                out[base + i * n + k] = divide_f32(out[base + i * n + k], diagonal);
                out[base + k * n + i] = 0.0;
            }
        }
        storageBarrier();
        workgroupBarrier();
        let rest = n - k - 1u;
        if live {
            for (var e = lid; e < rest * rest; e += WG) {
                let i = k + 1u + e / rest;
                let j = k + 1u + e % rest;
                if j <= i {
                    out[base + i * n + j] -= out[base + i * n + k] * out[base + j * n + k];
                }
            }
        }
        storageBarrier();
        workgroupBarrier();
    }
}
