// Size part of the kernel of few rows: 4 of them.

const LINES: u32 = 4u;
// Blocks along k that are loaded at a time.
const BLOCKS: u32 = 1u;

alias Totals = Four;

fn add_block(sum: Totals, at: Operands, row: u32, k: u32, b: Block) -> Totals {
    return add_four(sum, at, row, k, b);
}

fn finish(sum: Totals, to: Place) {
    finish_four(sum, to, 0u);
}
