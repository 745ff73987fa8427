// Parameters of the kernels that read quantised blocks.

struct Params {
    // Rows of the input, or of the result; rows of the blocks.
    m: u32,
    n: u32,
    // Units of a row of blocks.
    units: u32,
    // The input's first element and the step from row to row, in elements.
    x_offset: u32,
    x_row: u32,
    out_offset: u32,
    // Workgroups along the rows of the blocks.
    along: u32,
    // The first element of the norm's weight.
    norm_offset: u32,
    // Where each plane begins, in vectors of 16 bytes.
    planes: vec4<u32>,
    // What is added to a norm's mean of squares.
    eps: f32,
    // Units of a row of blocks that are multiplied by one workgroup on matrix units, of two or more that share the row.
    share: u32,
    reserved_1: u32,
    reserved_2: u32,
}
