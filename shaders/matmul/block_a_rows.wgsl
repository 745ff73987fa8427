// Operand part: blocks of a that is contiguous along the rows, every k at a multiple of four elements, m a multiple of four.

@group(0) @binding(1) var<storage, read> a: array<words_a>;

fn fetch_a4_rows(at: Operands, row: u32, k: u32) -> vec4<acc> {
    if row >= params.m || k >= params.k {
        return vec4<acc>();
    }
    return unpack_a(a[(at.a + k * params.a_depth) / 4u]);
}

fn block_a(at: Operands, row: u32, k: u32) -> Block {
    return Block(
        fetch_a4_rows(at, row, k),
        fetch_a4_rows(at, row, k + 1u),
        fetch_a4_rows(at, row, k + 2u),
        fetch_a4_rows(at, row, k + 3u),
    );
}
