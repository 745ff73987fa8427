// Operand part: b in vectors of what units take or make f16 of, along the columns (or with B_ACROSS 0 along k): contiguous there, every line begins at a multiple of four, and the vector at its end is there.
// Requires WHOLE, loaded.

@group(0) @binding(2) var<storage, read> b: array<loaded>;

fn fetch_b4(first: u32, k: u32, col: u32) -> loaded {
    // What stands in for columns behind the last is never stored.
    var line = min(col, params.n - 1u);
    if B_ACROSS == 1u {
        line = min(col, (params.n - 1u) / 4u * 4u);
    }
    if WHOLE == 0u && k >= params.k {
        return loaded();
    }
    return b[(first + k * params.b_depth + line * params.b_col) / 4u];
}
