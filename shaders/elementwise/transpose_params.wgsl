// Parameters of the copy through tiles. Rows are positions along the axis of the operand's neighbours, columns along that of the
// output's; `axes` are the others, innermost first: extent, then the strides of a and out in elements, in two's complement.

struct Params {
    rows: u32,
    cols: u32,
    row_tiles: u32,
    col_tiles: u32,
    offset_a: u32,
    offset_out: u32,
    a_col: u32,
    out_row: u32,
    batch: u32,
    unused_0: u32,
    unused_1: u32,
    unused_2: u32,
    axes: array<vec4<u32>, 8>,
}
