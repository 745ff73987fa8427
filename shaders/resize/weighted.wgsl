// Computes: resampling by weights that are a product over the axes, or the taps of it that are this dispatch's.
// Bindings: params, a, b = table, out (declared by the output part), those of the state part.
// Grid: one invocation per output, folded.
// Requires: emit, ended (output part), begun (state part).
// Accuracy: 82 ε Σ|weight · x|, then one rounding to the dtype.

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
            var sum = begun(id);
            for (var i = params.first_tap.x; i < params.end_tap.x; i++) {
                let x_at = place.base + b[place.entry.x + 2u * i] * params.steps.x;
                let x_weight = bitcast<f32>(b[place.entry.x + 2u * i + 1u]);
                var plane = 0.0;
                for (var j = params.first_tap.y; j < params.end_tap.y; j++) {
                    let y_at = x_at + b[place.entry.y + 2u * j] * params.steps.y;
                    let y_weight = bitcast<f32>(b[place.entry.y + 2u * j + 1u]);
                    var line = 0.0;
                    for (var k = params.first_tap.z; k < params.end_tap.z; k++) {
                        let at = y_at + b[place.entry.z + 2u * k] * params.steps.z;
                        let weight = bitcast<f32>(b[place.entry.z + 2u * k + 1u]);
                        // An element without weight has no part, not even as infinity.
                        if weight != 0.0 && x_weight != 0.0 && y_weight != 0.0 {
                            line += weight * from_word(a[word_index(at)], at);
                        }
                    }
                    plane += y_weight * line;
                }
                sum += x_weight * plane;
            }
            ended(id, sum);
        }
    }
}
