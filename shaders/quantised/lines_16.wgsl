// Size part of products with blocks: 16 rows of the input, 2 of the blocks.

const LINES: u32 = 16u;
const ROWS: u32 = 2u;
