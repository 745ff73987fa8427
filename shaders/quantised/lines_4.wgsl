// Size part of products with blocks: 4 rows of the input, 8 of the blocks.

const LINES: u32 = 4u;
const ROWS: u32 = 8u;
