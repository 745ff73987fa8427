// Operand part: blocks of b by vectors of four columns. Requires fetch_b4.

fn block_b(at: Operands, k: u32, col: u32) -> Block {
    return Block(
        fetch_b4(at, k, col),
        fetch_b4(at, k + 1u, col),
        fetch_b4(at, k + 2u, col),
        fetch_b4(at, k + 3u, col),
    );
}
