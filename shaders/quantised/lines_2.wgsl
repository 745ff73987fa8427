// Size part of products with blocks: 2 rows of the input, 8 of the blocks.

const LINES: u32 = 2u;
const ROWS: u32 = 8u;
