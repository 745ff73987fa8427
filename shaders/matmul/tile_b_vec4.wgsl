// Operand part: b contiguous along n, every row at a multiple of four elements, n a multiple of four.

@group(0) @binding(2) var<storage, read> b: array<words_b>;

fn fetch_b4(at: Operands, k: u32, col: u32) -> vec4<acc> {
    if k >= params.k || col >= params.n {
        return vec4<acc>();
    }
    return unpack_b(b[(at.b + k * params.b_depth) / 4u]);
}
