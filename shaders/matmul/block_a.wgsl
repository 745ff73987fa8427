// Operand part: blocks of a by vectors along k. Requires fetch_a4.

fn block_a(at: Operands, row: u32, k: u32) -> Block {
    return across(
        fetch_a4(at, row, k),
        fetch_a4(Operands(at.a + params.a_row, at.b), row + 1u, k),
        fetch_a4(Operands(at.a + 2u * params.a_row, at.b), row + 2u, k),
        fetch_a4(Operands(at.a + 3u * params.a_row, at.b), row + 3u, k),
    );
}
