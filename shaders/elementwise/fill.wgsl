// Computes: out[i] = value, given as bare bits.
// Bindings: params, 1 out.
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: out_elem, out_words, emit; out_elem is u32.
// Accuracy: exact.

struct Params {
    len: u32,
    offset_out: u32,
    value: u32,
}

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read_write> out: array<out_words>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        emit(vector, vec4<out_elem>(params.value));
    }
}
