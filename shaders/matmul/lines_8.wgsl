// Size part of the kernel of few rows: 8 of them.

const LINES: u32 = 8u;
// Blocks along k that are loaded at a time.
const BLOCKS: u32 = 1u;

struct Totals {
    f0: Four,
    f1: Four,
}

fn add_block(sum: Totals, at: Operands, row: u32, k: u32, b: Block) -> Totals {
    let lower = Operands(at.a + 4u * params.a_row, at.b);
    return Totals(add_four(sum.f0, at, row, k, b), add_four(sum.f1, lower, row + 4u, k, b));
}

fn finish(sum: Totals, to: Place) {
    finish_four(sum.f0, to, 0u);
    finish_four(sum.f1, to, 4u);
}
