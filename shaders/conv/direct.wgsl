// Computes: cross-correlation, four neighbouring output channels of one position per invocation, so that an element of x is read once for four products.
//           For few filters per group (depthwise among them); otherwise the tiled kernel is better.
// Bindings: params, a = x, b = w, [c = bias], out.
// Grid: one invocation per batch * groups * ceil(filters / 4) * out_h * out_w, positions innermost, folded.
// Requires: bias (bias part).

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups) * WG + lid;
    let plane = params.out_h * params.out_w;
    let blocks = (params.filters + 3u) / 4u;
    let position = id % plane;
    let block = (id / plane) % blocks;
    let group_index = (id / plane / blocks) % params.groups;
    let n = id / plane / blocks / params.groups;
    if n < params.batch {
        let f0 = block * 4u;
        let count = min(params.filters - f0, 4u);
        // The first extent is outside [0, height) when it wraps: one unsigned comparison tests both edges.
        let y0 = (position / params.out_w) * params.stride_h - params.pad_h;
        let x0 = (position % params.out_w) * params.stride_w - params.pad_w;
        let filter_step = params.w_strides.x;
        var sum = vec4<acc>();
        for (var channel = 0u; channel < params.channels; channel++) {
            let x_at = params.x_offset + n * params.x_strides.x + (group_index * params.channels + channel) * params.x_strides.y;
            let w_at = params.w_offset + (group_index * params.filters + f0) * filter_step + channel * params.w_strides.y;
            var part = vec4<acc>();
            for (var kh = 0u; kh < params.kernel_h; kh++) {
                let y = y0 + kh * params.dilation_h;
                if y < params.height {
                    for (var kw = 0u; kw < params.kernel_w; kw++) {
                        let x = x0 + kw * params.dilation_w;
                        if x < params.width {
                            let v = image(x_at + y * params.x_strides.z + x * params.x_strides.w);
                            let i = w_at + kh * params.w_strides.z + kw * params.w_strides.w;
                            part.x += v * filter_tap(i);
                            if count > 1u {
                                part.y += v * filter_tap(i + filter_step);
                            }
                            if count > 2u {
                                part.z += v * filter_tap(i + 2u * filter_step);
                            }
                            if count > 3u {
                                part.w += v * filter_tap(i + 3u * filter_step);
                            }
                        }
                    }
                }
            }
            sum += part;
        }
        let first = group_index * params.filters + f0;
        let out_at = params.out_offset + (n * params.groups * params.filters + first) * plane + position;
        for (var f = 0u; f < count; f++) {
            store1(out_at + f * plane, out_elem(sum[f] + bias(first + f)));
        }
    }
}
