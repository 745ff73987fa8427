// Operand part: a in vectors of what units take or make f16 of, along k (or with A_ACROSS along the rows): contiguous there, every line begins at a multiple of four, and the vector at its end is there.
// Requires WHOLE, loaded.

@group(0) @binding(1) var<storage, read> a: array<loaded>;

fn fetch_a4(first: u32, row: u32, k: u32) -> loaded {
    // What stands in for rows behind the last is never stored.
    var line = min(row, params.m - 1u);
    if A_ACROSS == 1u {
        line = min(row, (params.m - 1u) / 4u * 4u);
    }
    if WHOLE == 0u && k >= params.k {
        return loaded();
    }
    return a[(first + line * params.a_row + k * params.a_depth) / 4u];
}
