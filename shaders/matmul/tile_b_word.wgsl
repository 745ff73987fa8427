// Operand part: b with any strides, word by word.

@group(0) @binding(2) var<storage, read> b: array<word_b>;

fn fetch_b(at: Operands, k: u32, col: u32, step: u32) -> acc {
    if col + step >= params.n {
        return acc();
    }
    let i = at.b + k * params.b_depth + step * params.b_col;
    return from_word_b(b[word_index_b(i)], i);
}

fn fetch_b4(at: Operands, k: u32, col: u32) -> vec4<acc> {
    if k >= params.k {
        return vec4<acc>();
    }
    return vec4<acc>(fetch_b(at, k, col, 0u), fetch_b(at, k, col, 1u), fetch_b(at, k, col, 2u), fetch_b(at, k, col, 3u));
}
