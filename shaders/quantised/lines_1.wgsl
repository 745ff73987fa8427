// Size part of products with blocks: 1 rows of the input, 8 of the blocks.

const LINES: u32 = 1u;
const ROWS: u32 = 8u;
