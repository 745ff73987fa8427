// Shared by the convolution kernels. x is [batch, groups * channels, height, width], w is
// [groups * filters, channels, kernel_h, kernel_w], out is contiguous [batch, groups * filters, out_h, out_w].
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    batch: u32,
    groups: u32,
    channels: u32,
    filters: u32,
    height: u32,
    width: u32,
    out_h: u32,
    out_w: u32,
    kernel_h: u32,
    kernel_w: u32,
    stride_h: u32,
    stride_w: u32,
    dilation_h: u32,
    dilation_w: u32,
    pad_h: u32,
    pad_w: u32,
    x_offset: u32,
    w_offset: u32,
    bias_offset: u32,
    bias_step: u32,
    out_offset: u32,
    tiles_m: u32,
    tiles_n: u32,
    k: u32,
    x_strides: vec4<u32>,
    w_strides: vec4<u32>,
}

override WG: u32 = 256u;

alias acc = elem;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read> b: array<word>;

fn image(i: u32) -> acc {
    return from_word(a[word_index(i)], i);
}

fn filter_tap(i: u32) -> acc {
    return from_word(b[word_index(i)], i);
}

// Workgroup number in a grid that was folded over x, y and z.
fn folded(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + (group.y + group.z * groups.y) * groups.x;
}
