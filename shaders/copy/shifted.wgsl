// Computes: the 16-byte vector out[first_out + i] = the words a[first_a + 4 i ..], for i < len: a source that starts
//   at another place within 16 bytes than its target.
// Bindings: params, 1 a, 2 out.
// Grid: one row of workgroups, looping; one vector per invocation and step.
// Requires: Params, params.
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<u32>>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.len; i += groups.x * WG) {
        let at = params.first_a + 4u * i;
        out[params.first_out + i] = vec4<u32>(a[at], a[at + 1u], a[at + 2u], a[at + 3u]);
    }
}
