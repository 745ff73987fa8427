// Row part: rows of the blocks, one after the other.

fn row_of(i: u32) -> u32 {
    return params.x_offset + i;
}
