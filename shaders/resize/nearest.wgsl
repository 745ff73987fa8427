// Computes: resampling to the nearest element: a copy, so for every dtype.
// Bindings: params, a, b = table, out (declared by the output part).
// Grid: one invocation per output, folded.
// Requires: emit (output part).
// Accuracy: exact.

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    if id < params.outputs {
        let place = place_of(id);
        if is_outside(place) {
            emit(id, out_elem(params.extrapolation));
        } else {
            let i = place.base
                + b[place.entry.x] * params.steps.x
                + b[place.entry.y] * params.steps.y
                + b[place.entry.z] * params.steps.z;
            emit(id, from_word(a[word_index(i)], i));
        }
    }
}
