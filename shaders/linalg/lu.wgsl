// Computes: P A = L U in place with partial pivoting, one matrix per workgroup; L has ones on its diagonal, which are not
//           stored. c[k] is the row that was exchanged with row k. A pivot of 0 stands over zeros, which stay: L is 0 there,
//           and so the determinant is 0, not NaN.
// Bindings: params, out = matrices, c = pivots.
// Grid: one workgroup per matrix, folded; one dispatch after the other for columns from `first` up to `end`.
// Requires: folded.
// Accuracy: 64 n ε (1 + |out|) for well-conditioned matrices of n rows.

@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<u32>;

var<workgroup> partial_size: array<f32, WG>;
var<workgroup> partial_row: array<u32, WG>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    // Groups beyond the last matrix do nothing, but meet at the barriers.
    let n = params.n;
    let live = id < params.batch;
    let base = params.a_offset + id * n * n;
    for (var k = params.first; k < params.end; k++) {
        // The largest pivot; NaN counts as the largest, so that it is not lost. The first of equals.
        var value = -1.0;
        var row = k;
        for (var i = k + lid; live && i < n; i += WG) {
            let at = out[base + i * n + k];
            let size = select(abs(at), inf_f32(), is_nan(at));
            if size > value {
                value = size;
                row = i;
            }
        }
        partial_size[lid] = value;
        partial_row[lid] = row;
        // What was just read is exchanged below, by others.
        storageBarrier();
        workgroupBarrier();
        for (var s = WG / 2u; s > 0u; s /= 2u) {
            if lid < s {
                let other = partial_size[lid + s];
                let other_row = partial_row[lid + s];
                if other > partial_size[lid] || (other == partial_size[lid] && other_row < partial_row[lid]) {
                    partial_size[lid] = other;
                    partial_row[lid] = other_row;
                }
            }
            workgroupBarrier();
        }
        let pivot = partial_row[0];
        if live {
            if lid == 0u {
                c[params.b_offset + id * n + k] = pivot;
            }
            if pivot != k {
                for (var j = lid; j < n; j += WG) {
                    let upper = out[base + k * n + j];
                    out[base + k * n + j] = out[base + pivot * n + j];
                    out[base + pivot * n + j] = upper;
                }
            }
        }
        storageBarrier();
        workgroupBarrier();
        if live {
            let diagonal = out[base + k * n + k];
            let divisor = select(diagonal, 1.0, diagonal == 0.0);
            for (var i = k + 1u + lid; i < n; i += WG) {
                out[base + i * n + k] = divide_f32(out[base + i * n + k], divisor);
            }
        }
        storageBarrier();
        workgroupBarrier();
        let rest = n - k - 1u;
        if live {
            for (var e = lid; e < rest * rest; e += WG) {
                let i = k + 1u + e / rest;
                let j = k + 1u + e % rest;
                out[base + i * n + j] -= out[base + i * n + k] * out[base + k * n + j];
            }
        }
        storageBarrier();
        workgroupBarrier();
    }
}
