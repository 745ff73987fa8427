// Size part of the kernel of few rows: 2 of them.

const LINES: u32 = 2u;
// Blocks along k that are loaded at a time.
const BLOCKS: u32 = 2u;

alias Totals = Four;

fn add_block(sum: Totals, at: Operands, row: u32, k: u32, b: Block) -> Totals {
    return add_four(sum, at, row, k, b);
}

fn finish(sum: Totals, to: Place) {
    finish_four(sum, to, 0u);
}
