// Shared by the pooling kernels, in up to three dimensions: depth, height, width in x, y, z of the vectors; missing ones
// have extent 1. a is [batch, channels, extent], out is contiguous [batch, channels, result].
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    outputs: u32,
    channels: u32,
    plane: u32,
    offset: u32,
    out_offset: u32,
    identity: u32,
    include_pad: u32,
    divisor: u32,
    x_batch: u32,
    x_channel: u32,
    power: f32,
    // Of windows that take several dispatches: whether there is something to go on with.
    resumed: u32,
    extent: vec4<u32>,
    result: vec4<u32>,
    kernel: vec4<u32>,
    stride: vec4<u32>,
    dilation: vec4<u32>,
    pad: vec4<u32>,
    pad_end: vec4<u32>,
    steps: vec4<u32>,
    // The taps of this dispatch.
    first_tap: vec4<u32>,
    end_tap: vec4<u32>,
}

override WG: u32 = 256u;

// The elements of a window along one axis: `taps` of them from `first`, `step` apart.
struct Range {
    first: u32,
    step: u32,
    taps: u32,
}
