// Computes: out[0] = the least position of an index that names no element, if there is one below out[0].
// Bindings: params, 1 b (the indices, any strides), 2 out (one word).
// Grid: one row of workgroups, looping; one index per invocation and step.
// Requires: walked, names_one; component m of targets is that of position m modulo COMPONENTS.
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let step = groups.x * WG;
    var i = id.x;
    while i < params.len {
        if !names_one(b[walked(i).y], target_axis(i % COMPONENTS).x) {
            atomicMin(&out[params.offset_out], i);
        }
        if params.len - i <= step {
            break;
        }
        i += step;
    }
}
