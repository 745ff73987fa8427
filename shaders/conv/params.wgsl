// Parameters of the convolution kernels. Spatial values are depth, height, width in x, y, z; missing ones have extent 1.
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
    // From one group to the next.
    x_group: u32,
    // Of sums that come in several dispatches: whether there is one to go on with.
    resumed: u32,
    extent: vec4<u32>,
    result: vec4<u32>,
    kernel: vec4<u32>,
    stride: vec4<u32>,
    dilation: vec4<u32>,
    pad: vec4<u32>,
    x_steps: vec4<u32>,
    w_steps: vec4<u32>,
}
