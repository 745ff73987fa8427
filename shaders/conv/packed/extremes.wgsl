// Computes: the largest finite magnitudes of parts of images.
// Bindings: params, a = x, out_2 (facts).
// Grid: images * chunks workgroups of 256 invocations, folded.
// Requires: subgroups of 32; greatest, folded, facts.wgsl.
// Accuracy: exact.

@group(0) @binding(2) var<storage, read_write> out_2: array<u32>;

// Of each subgroup.
var<workgroup> tile_top: array<u32, 8>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let n = id / params.chunks;
    let elements = params.batch * params.channels * params.extent.x * params.extent.y * params.extent.z;
    // Of whole vectors.
    let vectors = (elements + 3u) / 4u;
    let share = (vectors + params.chunks - 1u) / params.chunks * 4u;
    let first = id % params.chunks * share;
    let end = min(first + share, elements);
    var top = 0u;
    if n < params.images {
        top = greatest(n, first, end, lid);
    }
    top = subgroupMax(top);
    if lid % 32u == 0u {
        tile_top[lid / 32u] = top;
    }
    workgroupBarrier();
    if lid == 0u && n < params.images {
        let lower = max(max(tile_top[0], tile_top[1]), max(tile_top[2], tile_top[3]));
        let upper = max(max(tile_top[4], tile_top[5]), max(tile_top[6], tile_top[7]));
        out_2[maxima_at() + id] = max(lower, upper);
    }
}
