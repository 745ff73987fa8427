// Operand part: a of f16 in vectors, along k (or with A_ACROSS along the rows): contiguous there, every line begins at a multiple of four, and the vector at its end is there.
// Requires WHOLE.

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;

fn fetch_a4(first: u32, row: u32, k: u32) -> vec4<f16> {
    // What stands in for rows behind the last is never stored.
    var line = min(row, params.m - 1u);
    if A_ACROSS == 1u {
        line = min(row, (params.m - 1u) / 4u * 4u);
    }
    if WHOLE == 0u && k >= params.k {
        return vec4<f16>();
    }
    return a[(first + line * params.a_row + k * params.a_depth) / 4u];
}
