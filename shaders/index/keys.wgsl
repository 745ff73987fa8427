// Computes: out[j] = the element that position (first + j) and its index name, that of the position's first lane.
// Bindings: params, 1 b (the indices, any strides), 2 out.
// Grid: one row of workgroups, looping; one position per invocation and step.
// Requires: located (which reads b).
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var j = id.x; j < params.positions; j += groups.x * WG) {
        out[params.offset_out + j] = located((params.first + j) * params.lanes).x;
    }
}
