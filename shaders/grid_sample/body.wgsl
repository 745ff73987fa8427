// Computes: out[i] = the image at the coordinates that the grid holds for i.
// Bindings: params, a, b = grid, out (declared by the output part).
// Grid: one invocation per output, folded.
// Requires: place_of (parameter part), sample (mode part), emit (output part).
// Accuracy: that of the mode part.

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    if id < params.outputs {
        emit(id, sample(place_of(id)));
    }
}
