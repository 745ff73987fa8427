// Parameters of the sort of blocks. Axes as in elementwise/strided_params.wgsl: extent, then strides.

struct Params {
    // How many of each block are written.
    keep: u32,
    offset_out: u32,
    offset_a: u32,
    offset_b: u32,
    offset_c: u32,
    // Elements of a row, blocks of a row, blocks of all rows.
    row: u32,
    per_row: u32,
    blocks: u32,
    axes: array<vec4<u32>, 8>,
}
