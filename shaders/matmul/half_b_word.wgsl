// Operand part: b with any strides, element by element, four along the columns or with B_ACROSS 0 along k. Requires value, loaded.

@group(0) @binding(2) var<storage, read> b: array<value>;

fn fetch_b(first: u32, k: u32, col: u32) -> value {
    if k >= params.k || col >= params.n {
        return value();
    }
    let at = first + k * params.b_depth + col * params.b_col;
    return b[at];
}

fn fetch_b4(first: u32, k: u32, col: u32) -> loaded {
    var step = vec2<u32>(1u, 0u);
    if B_ACROSS == 1u {
        step = vec2<u32>(0u, 1u);
    }
    return loaded(
        fetch_b(first, k, col),
        fetch_b(first, k + step.x, col + step.y),
        fetch_b(first, k + 2u * step.x, col + 2u * step.y),
        fetch_b(first, k + 3u * step.x, col + 3u * step.y),
    );
}
