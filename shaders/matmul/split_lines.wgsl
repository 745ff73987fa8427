// Part of the kernel of packed f32: where matrices are, if b is a matrix that is packed in blocks, too.

// f16 from one line to the next, of which this product may take a part.
fn line_halves() -> u32 {
    return params.a_row;
}

// The first one of the block of a column.
fn lines_b(first: u32, col: u32) -> u32 {
    return block_at(first, col, params.n);
}

// How far behind it that of a part along k is.
fn step_b(k: u32) -> u32 {
    return k / DEPTH * BLOCK;
}

// How far behind the higher f16 the lower ones are.
fn lower_b() -> u32 {
    return HALF;
}
