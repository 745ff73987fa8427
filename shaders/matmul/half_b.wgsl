// Operand part: b of f16 in vectors, along the columns (or with B_ACROSS 0 along k): contiguous there, every line begins at a multiple of four, and the vector at its end is there.
// Requires WHOLE.

@group(0) @binding(2) var<storage, read> b: array<vec4<f16>>;

fn fetch_b4(first: u32, k: u32, col: u32) -> vec4<f16> {
    // What stands in for columns behind the last is never stored.
    var line = min(col, params.n - 1u);
    if B_ACROSS == 1u {
        line = min(col, (params.n - 1u) / 4u * 4u);
    }
    if WHOLE == 0u && k >= params.k {
        return vec4<f16>();
    }
    return b[(first + k * params.b_depth + line * params.b_col) / 4u];
}
