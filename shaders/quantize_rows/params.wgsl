// Parameters of rows that become integers with a factor: the last axis of four is a row.

struct Params {
    rows: u32,
    // Elements of a row.
    len: u32,
    // The first element of: the rows, the integers, the factors, the positions.
    offset: u32,
    out_offset: u32,
    factors_offset: u32,
    positions_offset: u32,
    // From one position to the next.
    positions_stride: u32,
    // Positions that there is room for.
    capacity: u32,
    // Heads, and rows of each; both at least 1.
    heads: u32,
    count: u32,
    reserved_0: u32,
    reserved_1: u32,
    // Strides along batch, head, position and element (two's complement).
    strides: vec4<u32>,
    out_strides: vec4<u32>,
    factors_strides: vec4<u32>,
}
