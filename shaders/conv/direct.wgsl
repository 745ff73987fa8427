// Computes: cross-correlation, four neighbouring output channels of one position per invocation, so that an element of x is read once for four products.
//           For few filters per group (depthwise among them); otherwise the tiled kernel is better.
// Bindings: params, a = x, b = w, out, [c = bias].
// Grid: one invocation per batch * groups * ceil(filters / 4) * positions, positions innermost, folded.
// Requires: image, filter_tap, first and source (walk part), tap_steps and first_taps, emit (output part).
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups) * WG + lid;
    let blocks = (params.filters + 3u) / 4u;
    let position = id % params.plane;
    let block = (id / params.plane) % blocks;
    let group_index = (id / params.plane / blocks) % params.groups;
    let n = id / params.plane / blocks / params.groups;
    if n < params.batch {
        let f0 = block * 4u;
        let count = min(params.filters - f0, 4u);
        let area = params.result.y * params.result.z;
        let start = first(
            vec4<u32>(position / area, (position % area) / params.result.z, position % params.result.z, 0u),
            params.stride,
            params.pad,
        );
        let step = tap_steps();
        let tap0 = first_taps(start, step);
        var sum = vec4<acc>();
        for (var channel = 0u; channel < params.channels; channel++) {
            let x_at = params.x_offset + n * params.x_batch + group_index * params.x_group + channel * params.x_channel;
            let w_at = params.w_offset + group_index * params.w_group + f0 * params.w_filter + channel * params.w_channel;
            var part = vec4<acc>();
            for (var kd = tap0.x; kd < params.kernel.x; kd += step.x) {
                let z = source(start.x, kd * params.dilation.x, params.stride.x);
                if VOLUME == 1u && z >= params.extent.x {
                    continue;
                }
                for (var kh = tap0.y; kh < params.kernel.y; kh += step.y) {
                    let y = source(start.y, kh * params.dilation.y, params.stride.y);
                    if y < params.extent.y {
                        for (var kw = tap0.z; kw < params.kernel.z; kw += step.z) {
                            let x = source(start.z, kw * params.dilation.z, params.stride.z);
                            if x < params.extent.z {
                                let v = image(x_at + z * params.x_steps.x + y * params.x_steps.y + x * params.x_steps.z);
                                let i = w_at + kd * params.w_steps.x + kh * params.w_steps.y + kw * params.w_steps.z;
                                part.x += v * filter_tap(i);
                                if count > 1u {
                                    part.y += v * filter_tap(i + params.w_filter);
                                }
                                if count > 2u {
                                    part.z += v * filter_tap(i + 2u * params.w_filter);
                                }
                                if count > 3u {
                                    part.w += v * filter_tap(i + 3u * params.w_filter);
                                }
                            }
                        }
                    }
                }
            }
            sum += part;
        }
        let filter0 = group_index * params.filters + f0;
        let at = (n * params.groups * params.filters + filter0) * params.plane + position;
        for (var i = 0u; i < count; i++) {
            emit(at + i * params.plane, filter0 + i, sum[i]);
        }
    }
}
