// Computes: four neighbouring pooling windows of planes per invocation, of which the results lie in whole words.
// Bindings: params, a, 2 out (from a multiple of four elements on).
// Grid: one invocation per four outputs, folded.
// Requires: window, plane_at; out_words, pack, merge.
// Accuracy: that of the window part.

@group(0) @binding(2) var<storage, read_write> out: array<out_words>;

// Past the last output, that one.
fn result(i: u32) -> out_elem {
    let id = min(i, params.outputs - 1u);
    let row = id / params.result.z;
    let image = row / params.result.y;
    return window(plane_at(image), row - image * params.result.y, id - row * params.result.z);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let i = ((group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid) * 4u;
    if i < params.outputs {
        let v = vec4<out_elem>(result(i), result(i + 1u), result(i + 2u), result(i + 3u));
        let at = (params.out_offset + i) / 4u;
        let left = params.outputs - i;
        if left >= 4u {
            out[at] = pack(v);
        } else {
            out[at] = merge(out[at], pack(v), left); // sanitizer: allow(uninitialized): keeps what lies behind the output
        }
    }
}
