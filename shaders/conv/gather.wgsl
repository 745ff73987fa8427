// Operand part of the tiled kernel: convolution as a batch of matrix products, one per group.
// Rows are filters, k runs over (channel, kernel_h, kernel_w), columns over (batch, out_h, out_w). The image matrix is never stored:
// its elements are gathered from x, 0 in the padding.

struct Operands {
    w: u32,
    x: u32,
}

fn batches() -> u32 {
    return params.groups;
}

fn operands(batch: u32, row: u32, col: u32) -> Operands {
    return Operands(
        params.w_offset + (batch * params.filters + row) * params.w_strides.x,
        params.x_offset + batch * params.channels * params.x_strides.y,
    );
}

fn fetch_a(at: Operands, k: u32) -> acc {
    if k >= params.k {
        return acc();
    }
    let taps = params.kernel_h * params.kernel_w;
    let tap = k % taps;
    return filter_tap(at.w
        + (k / taps) * params.w_strides.y
        + (tap / params.kernel_w) * params.w_strides.z
        + (tap % params.kernel_w) * params.w_strides.w);
}

fn fetch_a4(at: Operands, row: u32, k: u32) -> vec4<acc> {
    if row >= params.filters {
        return vec4<acc>();
    }
    return vec4<acc>(fetch_a(at, k), fetch_a(at, k + 1u), fetch_a(at, k + 2u), fetch_a(at, k + 3u));
}

// `corner` is the element of x at (channel, kernel tap 0, 0) of an image, `y0` and `x0` the tap's displacement.
fn fetch_b(at: Operands, channel_at: u32, tap_h: u32, tap_w: u32, col: u32) -> acc {
    let plane = params.out_h * params.out_w;
    let position = col % plane;
    // Outside [0, height) also when it wraps: one unsigned comparison tests both edges.
    let y = (position / params.out_w) * params.stride_h + tap_h;
    let x = (position % params.out_w) * params.stride_w + tap_w;
    if col >= params.batch * plane || y >= params.height || x >= params.width {
        return acc();
    }
    return image(channel_at + (col / plane) * params.x_strides.x + y * params.x_strides.z + x * params.x_strides.w);
}

fn fetch_b4(at: Operands, k: u32, col: u32) -> vec4<acc> {
    if k >= params.k {
        return vec4<acc>();
    }
    let taps = params.kernel_h * params.kernel_w;
    let tap = k % taps;
    let channel_at = at.x + (k / taps) * params.x_strides.y;
    let tap_h = (tap / params.kernel_w) * params.dilation_h - params.pad_h;
    let tap_w = (tap % params.kernel_w) * params.dilation_w - params.pad_w;
    return vec4<acc>(
        fetch_b(at, channel_at, tap_h, tap_w, col),
        fetch_b(at, channel_at, tap_h, tap_w, col + 1u),
        fetch_b(at, channel_at, tap_h, tap_w, col + 2u),
        fetch_b(at, channel_at, tap_h, tap_w, col + 3u),
    );
}

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.filters {
        let plane = params.out_h * params.out_w;
        let filter_index = batch * params.filters + row;
        let start = bias(filter_index);
        for (var i = 0u; i < 4u; i++) {
            let at = col + i;
            if at < params.batch * plane {
                store1(
                    params.out_offset + ((at / plane) * params.groups * params.filters + filter_index) * plane + at % plane,
                    out_elem(v[i] + start),
                );
            }
        }
    }
}
