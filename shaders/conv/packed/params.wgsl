// Parameters of convolutions whose operands are packed for matrix units. Spatial values are depth, height, width in x, y, z.
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    // Of the product of a group: filters, positions of all images, f16 of a line; and how many groups.
    m: u32,
    n: u32,
    k: u32,
    batch: u32,
    tiles_m: u32,
    tiles_n: u32,
    images: u32,
    // Positions of an image.
    plane: u32,
    // Channels of a group, and blocks of them as they are packed, of each the taps.
    channels: u32,
    blocks: u32,
    taps: u32,
    // Packed pixels of a block, and of each part of it: of those that a stride leaves in one place.
    pixels: u32,
    part: u32,
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
    // Parts of an image whose largest magnitudes are found first.
    chunks: u32,
    extent: vec4<u32>,
    result: vec4<u32>,
    kernel: vec4<u32>,
    stride: vec4<u32>,
    dilation: vec4<u32>,
    pad: vec4<u32>,
    x_steps: vec4<u32>,
    w_steps: vec4<u32>,
    // A packed image.
    grid: vec4<u32>,
}
