// Computes: the sum of overlapping windows (col2im): a is [batch, layers, channels * taps, windows], and every element of out adds
//           up what the windows that cover it hold for it, in `groups` layers. Taps are `w_steps` apart, channels `x_group`, layers
//           `x_channel`.
// Bindings: params, a, out.
// Grid: one invocation for four outputs of a row, the last of which may be fewer, folded.
// Requires: first (transposed walk part), tap_steps, place, back, along, write.
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups) * WG + lid;
    let of_row = (params.result.z + 3u) / 4u;
    let row = id / of_row;
    let x = id % of_row * 4u;
    let y = row % params.result.y;
    var plane = row / params.result.y;
    var z = 0u;
    if VOLUME == 1u {
        z = plane % params.result.x;
        plane /= params.result.x;
    }
    if plane < params.batch * params.channels {
        let start = first(vec4<u32>(z, y, x, 0u), params.stride, params.pad);
        let channel = plane % params.channels;
        let base = params.x_offset + (plane / params.channels) * params.x_batch + channel * params.x_group;
        let step = tap_steps();
        let back = back(step);
        let at_0 = place(start.z, params.stride.z, params.dilation.z, step.z, params.kernel.z);
        let at_1 = place(start.z + 1u, params.stride.z, params.dilation.z, step.z, params.kernel.z);
        let at_2 = place(start.z + 2u, params.stride.z, params.dilation.z, step.z, params.kernel.z);
        let at_3 = place(start.z + 3u, params.stride.z, params.dilation.z, step.z, params.kernel.z);
        let taps = vec4<u32>(at_0.x, at_1.x, at_2.x, at_3.x);
        let windows = vec4<u32>(at_0.y, at_1.y, at_2.y, at_3.y);
        var first_z = vec2<u32>();
        if VOLUME == 1u {
            first_z = place(start.x, params.stride.x, params.dilation.x, step.x, params.kernel.x);
        }
        let first_y = place(start.y, params.stride.y, params.dilation.y, step.y, params.kernel.y);
        var sums = vec4<acc>();
        var at_z = first_z.y;
        for (var kd = first_z.x; kd < params.kernel.x; kd += step.x) {
            var at_y = first_y.y;
            for (var kh = first_y.x; kh < params.kernel.y; kh += step.y) {
                if at_z < params.extent.x && at_y < params.extent.y {
                    let before = (at_z * params.extent.y + at_y) * params.extent.z;
                    let line = base + kd * params.w_steps.x + kh * params.w_steps.y + before * params.x_steps.z;
                    sums += along(line, taps, windows, step.z, back.z);
                }
                at_y -= back.y;
            }
            at_z -= back.x;
        }
        write(row * params.result.z + x, channel, sums, min(params.result.z - x, 4u));
    }
}
