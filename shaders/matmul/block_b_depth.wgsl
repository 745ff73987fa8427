// Operand part: blocks of b that is contiguous along k (the weights of a linear layer), every column at a multiple of four
// elements, k a multiple of four.

@group(0) @binding(2) var<storage, read> b: array<words_b>;

fn fetch_b4_depth(first: u32, k: u32, col: u32) -> vec4<acc> {
    if k >= params.k || col >= params.n {
        return vec4<acc>();
    }
    return unpack_b(b[(first + k) / 4u]);
}

fn block_b(at: Operands, k: u32, col: u32) -> Block {
    return across(
        fetch_b4_depth(at.b, k, col),
        fetch_b4_depth(at.b + params.b_col, k, col + 1u),
        fetch_b4_depth(at.b + 2u * params.b_col, k, col + 2u),
        fetch_b4_depth(at.b + 3u * params.b_col, k, col + 3u),
    );
}
