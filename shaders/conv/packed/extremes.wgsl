// Computes: the largest finite magnitudes of parts of images.
// Bindings: params, a = x, out_2 (facts).
// Grid: images * chunks workgroups of 256 invocations, folded.
// Requires: image, folded, facts.wgsl.
// Accuracy: exact.

// 1: the elements of an image fill a range of memory, whatever their order.
override FLAT: u32 = 0u;

@group(0) @binding(2) var<storage, read_write> out_2: array<u32>;

var<workgroup> tile_top: array<u32, 256>;

fn magnitude(n: u32, e: u32) -> u32 {
    var i = params.x_offset + n * params.x_batch;
    if FLAT == 1u {
        i += e;
    } else {
        let rows = e / params.extent.z;
        let planes = rows / params.extent.y;
        i += planes / params.extent.x * params.x_channel + planes % params.extent.x * params.x_steps.x
            + rows % params.extent.y * params.x_steps.y + e % params.extent.z * params.x_steps.z;
    }
    let bits = bitcast<u32>(image(i)) & 0x7fffffffu;
    return select(0u, bits, bits < 0x7f800000u);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let n = id / params.chunks;
    let elements = params.batch * params.channels * params.extent.x * params.extent.y * params.extent.z;
    let share = (elements + params.chunks - 1u) / params.chunks;
    let first = id % params.chunks * share;
    let end = min(first + share, elements);
    var top = 0u;
    if n < params.images {
        for (var e = first + lid; e < end; e += 1024u) {
            // Elements are looked at again where there are no more.
            let last = end - 1u;
            let lower = max(magnitude(n, e), magnitude(n, min(e + 256u, last)));
            let upper = max(magnitude(n, min(e + 512u, last)), magnitude(n, min(e + 768u, last)));
            top = max(top, max(lower, upper));
        }
    }
    tile_top[lid] = top;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if lid < half {
            tile_top[lid] = max(tile_top[lid], tile_top[lid + half]);
        }
        workgroupBarrier();
    }
    if lid == 0u && n < params.images {
        out_2[maxima_at() + id] = tile_top[0];
    }
}
