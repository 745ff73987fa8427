// Shared by the convolution kernels, in up to three dimensions: depth, height, width in x, y, z of the vectors; missing
// ones have extent 1. x is [batch, groups * channels, extent], out is contiguous [batch, groups * filters, result].
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    batch: u32,
    groups: u32,
    channels: u32,
    filters: u32,
    tiles_m: u32,
    tiles_n: u32,
    k: u32,
    plane: u32,
    x_offset: u32,
    w_offset: u32,
    bias_offset: u32,
    bias_step: u32,
    out_offset: u32,
    x_batch: u32,
    x_channel: u32,
    w_group: u32,
    w_filter: u32,
    w_channel: u32,
    reserved_a: u32,
    reserved_b: u32,
    extent: vec4<u32>,
    result: vec4<u32>,
    kernel: vec4<u32>,
    stride: vec4<u32>,
    dilation: vec4<u32>,
    pad: vec4<u32>,
    x_steps: vec4<u32>,
    w_steps: vec4<u32>,
}

override WG: u32 = 256u;
// 1: the depth is more than 1 somewhere.
override VOLUME: u32 = 0u;

alias acc = elem;

// Workgroup number in a grid that was folded over x, y and z.
fn folded(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + (group.y + group.z * groups.y) * groups.x;
}
