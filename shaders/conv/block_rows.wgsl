// Operand part: blocks of filters by vectors along k. Requires fetch_a4.

fn block_a(at: Operands, row: u32, k: u32) -> Block {
    var lines = array<Operands, 4>(at, at, at, at);
    lines[1].w += params.w_filter;
    lines[2].w += 2u * params.w_filter;
    lines[3].w += 3u * params.w_filter;
    return across(
        fetch_a4(lines[0], row, k),
        fetch_a4(lines[1], row + 1u, k),
        fetch_a4(lines[2], row + 2u, k),
        fetch_a4(lines[3], row + 3u, k),
    );
}
