// Computes: one pooling window of a plane per invocation.
// Bindings: params, a, 2 out.
// Grid: one invocation per output, folded.
// Requires: window, plane_at; store1.
// Accuracy: that of the window part.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    if id < params.outputs {
        let row = id / params.result.z;
        let image = row / params.result.y;
        let v = window(plane_at(image), row - image * params.result.y, id - row * params.result.z);
        store1(params.out_offset + id, v);
    }
}
