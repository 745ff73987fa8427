// Shared by the two kernels of a packed product: which tiles matrix units compute, and what pack.wgsl left about lines.
// Both look at the same 128 x 128 outputs, whatever their tiles are, so that each output is written once. Requires Params.

// Blocks of 16 lines, 17 words each: exponents of 2, and whether a line is flagged. Those of a come first.
@group(0) @binding(4) var<storage, read> c: array<i32>;

const FLAGGED_SIDE: u32 = 128u;

fn blocks_of(lines: u32) -> u32 {
    return (lines + 15u) / 16u;
}

fn flag(first: u32, block: u32, last: u32) -> i32 {
    return c[(first + min(block, last)) * 17u + 16u];
}

// Whether one of 8 blocks is flagged, of those from `first` to `first + last`.
fn has_flag(first: u32, block: u32, last: u32) -> bool {
    let lower = flag(first, block, last) | flag(first, block + 1u, last)
        | flag(first, block + 2u, last) | flag(first, block + 3u, last);
    let upper = flag(first, block + 4u, last) | flag(first, block + 5u, last)
        | flag(first, block + 6u, last) | flag(first, block + 7u, last);
    return (lower | upper) != 0;
}

// Whether the 128 x 128 outputs around an output have a flagged line.
fn is_flagged(batch: u32, row: u32, col: u32) -> bool {
    let entry = min(batch, params.batch - 1u);
    let rows = blocks_of(params.m);
    let cols = blocks_of(params.n);
    let in_rows = has_flag(entry * rows, row / FLAGGED_SIDE * 8u, rows - 1u);
    let in_cols = has_flag(params.batch * rows + entry * cols, col / FLAGGED_SIDE * 8u, cols - 1u);
    return in_rows | in_cols;
}
