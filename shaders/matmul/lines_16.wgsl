// Size part of the kernel of few rows: 16 of them.

const LINES: u32 = 16u;
// Blocks along k that are loaded at a time.
const BLOCKS: u32 = 1u;

struct Totals {
    f0: Four,
    f1: Four,
    f2: Four,
    f3: Four,
}

fn add_block(sum: Totals, at: Operands, row: u32, k: u32, b: Block) -> Totals {
    let four = 4u * params.a_row;
    return Totals(
        add_four(sum.f0, at, row, k, b),
        add_four(sum.f1, Operands(at.a + four, at.b), row + 4u, k, b),
        add_four(sum.f2, Operands(at.a + 2u * four, at.b), row + 8u, k, b),
        add_four(sum.f3, Operands(at.a + 3u * four, at.b), row + 12u, k, b),
    );
}

fn finish(sum: Totals, to: Place) {
    finish_four(sum.f0, to, 0u);
    finish_four(sum.f1, to, 4u);
    finish_four(sum.f2, to, 8u);
    finish_four(sum.f3, to, 12u);
}
