// Computes: one pooling window per invocation.
// Bindings: params, a, out.
// Grid: one invocation per output, folded.
// Requires: start, combine, finish (window part).

// How many of the window's positions from `first` lie in the unpadded extent, or with include_pad before the padded end.
fn counted(first: u32, kernel: u32, dilation: u32, len: u32, pad_end: u32) -> u32 {
    var n = 0u;
    for (var j = 0u; j < kernel; j++) {
        // Negative positions wrap to large numbers; they are the padding in front.
        let at = i32(first + j * dilation);
        let inside = at >= 0 && at < i32(len);
        let padded = params.include_pad == 1u && at < i32(len + pad_end);
        n += select(0u, 1u, inside || padded);
    }
    return n;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    if id < params.outputs {
        let position = id % (params.out_h * params.out_w);
        let image = id / (params.out_h * params.out_w);
        let y0 = (position / params.out_w) * params.stride_h - params.pad_h;
        let x0 = (position % params.out_w) * params.stride_w - params.pad_w;
        let base = params.offset + (image / params.channels) * params.strides.x + (image % params.channels) * params.strides.y;
        var v = start();
        for (var kh = 0u; kh < params.kernel_h; kh++) {
            // Outside [0, height) also when it wraps: one unsigned comparison tests both edges.
            let y = y0 + kh * params.dilation_h;
            if y < params.height {
                for (var kw = 0u; kw < params.kernel_w; kw++) {
                    let x = x0 + kw * params.dilation_w;
                    if x < params.width {
                        let i = base + y * params.strides.z + x * params.strides.w;
                        v = combine(v, from_word(a[word_index(i)], i));
                    }
                }
            }
        }
        let count = counted(y0, params.kernel_h, params.dilation_h, params.height, params.pad_end_h)
            * counted(x0, params.kernel_w, params.dilation_w, params.width, params.pad_end_w);
        store1(params.out_offset + id, finish(v, count));
    }
}
