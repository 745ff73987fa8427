// Operand part: a with any strides, element by element, four along k or with A_ACROSS along the rows. Requires value, loaded.

@group(0) @binding(1) var<storage, read> a: array<value>;

fn fetch_a(first: u32, row: u32, k: u32) -> value {
    if row >= params.m || k >= params.k {
        return value();
    }
    let at = first + row * params.a_row + k * params.a_depth;
    return a[at];
}

fn fetch_a4(first: u32, row: u32, k: u32) -> loaded {
    var step = vec2<u32>(0u, 1u);
    if A_ACROSS == 1u {
        step = vec2<u32>(1u, 0u);
    }
    return loaded(
        fetch_a(first, row, k),
        fetch_a(first, row + step.x, k + step.y),
        fetch_a(first, row + 2u * step.x, k + 2u * step.y),
        fetch_a(first, row + 3u * step.x, k + 3u * step.y),
    );
}
