// Operand part: a contiguous along k, every row at a multiple of four elements, k a multiple of four.

@group(0) @binding(1) var<storage, read> a: array<words_a>;

fn fetch_a4(at: Operands, row: u32, k: u32) -> vec4<acc> {
    if row >= params.m || k >= params.k {
        return vec4<acc>();
    }
    return unpack_a(a[(at.a + k) / 4u]);
}
