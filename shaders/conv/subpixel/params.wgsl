// Parameters of what comes before and behind a transposed convolution that runs as a convolution of more filters. Spatial values
// are depth, height, width in x, y, z.
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    // Of a group: filters, and channels.
    filters: u32,
    channels: u32,
    // Filters of all groups, and elements of one of each phase: a multiple of four.
    rows: u32,
    row: u32,
    // Outputs between two inputs, each with filters of its own, and taps of these.
    phases: u32,
    taps: u32,
    // Elements of the bias.
    biases: u32,
    // Planes of the result, and elements of one of a phase.
    planes: u32,
    plane: u32,
    w_offset: u32,
    bias_offset: u32,
    bias_step: u32,
    out_offset: u32,
    w_group: u32,
    w_filter: u32,
    w_channel: u32,
    // Extents of the filters of a phase.
    window: vec4<u32>,
    stride: vec4<u32>,
    w_steps: vec4<u32>,
    // Of a plane of a phase, and of the result.
    extent: vec4<u32>,
    result: vec4<u32>,
    // What is cut off in front of the first output.
    cut: vec4<u32>,
}
