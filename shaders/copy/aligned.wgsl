// Computes: out[first_out + i] = a[first_a + i] for 16-byte vectors i < len.
// Bindings: params, 1 a, 2 out.
// Grid: one row of workgroups, looping; one vector per invocation and step.
// Requires: Params, params.
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<u32>>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.len; i += groups.x * WG) {
        out[params.first_out + i] = a[params.first_a + i];
    }
}
