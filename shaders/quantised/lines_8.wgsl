// Size part of products with blocks: 8 rows of the input, 4 of the blocks.

const LINES: u32 = 8u;
const ROWS: u32 = 4u;
