// Computes: cross-correlation, four rows of four neighbouring outputs of one channel per invocation, so that elements of x are read once for several of them.
//           For few channels per group (depthwise among them) and kernels of up to 7 x 7.
// Bindings: params, a = x, b = w, out, [c = bias].
// Grid: one invocation per batch * groups * filters * ceil(height / 4) * ceil(width / 4), the width innermost, folded.
// Requires: window (of vec4s or of elements), filter_tap, emit_row (output part).
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype.

override KERNEL_Y: u32 = 3u;
override KERNEL_X: u32 = 3u;
override STRIDE_Y: u32 = 1u;
override STRIDE_X: u32 = 1u;
// How far the first tap of an invocation's first output lies behind a multiple of four.
override SHIFT: u32 = 3u;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups) * WG + lid;
    let across = (params.result.z + 3u) / 4u;
    let bands = (params.result.y + 3u) / 4u;
    let all = params.groups * params.filters;
    let x = id % across * 4u;
    let y = id / across % bands * 4u;
    let plane = id / across / bands;
    let n = plane / all;
    if n < params.batch {
        let filter_index = plane % all;
        let group_index = filter_index / params.filters;
        var x_at = params.x_offset + n * params.x_batch + group_index * params.x_group;
        var w_at = params.w_offset + group_index * params.w_group + filter_index % params.filters * params.w_filter;
        let first_y = y * STRIDE_Y - params.pad.y;
        let first_x = x * STRIDE_X - params.pad.z;
        var sums: array<vec4<acc>, 4>;
        var taps: array<acc, 49>;
        var row: array<vec4<acc>, 4>;
        for (var channel = 0u; channel < params.channels; channel++) {
            for (var i = 0u; i < KERNEL_Y * KERNEL_X; i++) {
                taps[i] = filter_tap(w_at + i / KERNEL_X * params.w_steps.y + i % KERNEL_X * params.w_steps.z);
            }
            for (var r = 0u; r < 3u * STRIDE_Y + KERNEL_Y; r++) {
                let from_y = first_y + r;
                if from_y < params.extent.y {
                    window(&row, x_at + from_y * params.x_steps.y, first_x);
                    for (var i = 0u; i < 4u; i++) {
                        let tap_y = r - i * STRIDE_Y;
                        if tap_y < KERNEL_Y {
                            for (var tap_x = 0u; tap_x < KERNEL_X; tap_x++) {
                                let e = SHIFT + tap_x;
                                sums[i] += taps[tap_y * KERNEL_X + tap_x] * vec4<acc>(
                                    row[e / 4u][e % 4u],
                                    row[(e + STRIDE_X) / 4u][(e + STRIDE_X) % 4u],
                                    row[(e + 2u * STRIDE_X) / 4u][(e + 2u * STRIDE_X) % 4u],
                                    row[(e + 3u * STRIDE_X) / 4u][(e + 3u * STRIDE_X) % 4u],
                                );
                            }
                        }
                    }
                }
            }
            x_at += params.x_channel;
            w_at += params.w_channel;
        }
        let to = (plane * params.result.y + y) * params.result.z + x;
        for (var i = 0u; i < 4u; i++) {
            if y + i < params.result.y {
                emit_row(to + i * params.result.z, filter_index, sums[i], params.result.z - x);
            }
        }
    }
}
