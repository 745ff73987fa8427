// Computes: the sum of overlapping windows (col2im): a is [batch, channels * taps, windows], and every element of out adds
//           up what the windows that cover it hold for it. Taps are `w_steps` apart, channels `x_group`.
// Bindings: params, a, out.
// Grid: one invocation per output, folded.
// Requires: image, first and source (transposed walk part), tap_steps and first_taps, emit (output part).
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups) * WG + lid;
    let plane = id / params.plane;
    if plane < params.batch * params.channels {
        let position = id % params.plane;
        let area = params.result.y * params.result.z;
        let start = first(
            vec4<u32>(position / area, (position % area) / params.result.z, position % params.result.z, 0u),
            params.stride,
            params.pad,
        );
        let channel = plane % params.channels;
        let base = params.x_offset + (plane / params.channels) * params.x_batch + channel * params.x_group;
        let step = tap_steps();
        let tap0 = first_taps(start, step);
        var sum = acc();
        for (var kd = tap0.x; kd < params.kernel.x; kd += step.x) {
            let z = source(start.x, kd * params.dilation.x, params.stride.x);
            for (var kh = tap0.y; kh < params.kernel.y; kh += step.y) {
                let y = source(start.y, kh * params.dilation.y, params.stride.y);
                for (var kw = tap0.z; kw < params.kernel.z; kw += step.z) {
                    let x = source(start.z, kw * params.dilation.z, params.stride.z);
                    if z < params.extent.x && y < params.extent.y && x < params.extent.z {
                        let tap = kd * params.w_steps.x + kh * params.w_steps.y + kw * params.w_steps.z;
                        let window = (z * params.extent.y + y) * params.extent.z + x;
                        sum += image(base + tap + window * params.x_steps.z);
                    }
                }
            }
        }
        emit(id, channel, sum);
    }
}
