// Shared by the pooling kernels. a is [batch, channels, height, width], out is contiguous [batch, channels, out_h, out_w].
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    outputs: u32,
    channels: u32,
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
    pad_end_h: u32,
    pad_end_w: u32,
    offset: u32,
    out_offset: u32,
    identity: u32,
    include_pad: u32,
    strides: vec4<u32>,
}

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read_write> out: array<cell>;
