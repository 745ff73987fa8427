// Operand part: a with any strides, word by word.

@group(0) @binding(1) var<storage, read> a: array<word_a>;

fn fetch_a(at: Operands, k: u32) -> acc {
    if k >= params.k {
        return acc();
    }
    let i = at.a + k * params.a_depth;
    return from_word_a(a[word_index_a(i)], i);
}

fn fetch_a4(at: Operands, row: u32, k: u32) -> vec4<acc> {
    if row >= params.m {
        return vec4<acc>();
    }
    return vec4<acc>(fetch_a(at, k), fetch_a(at, k + 1u), fetch_a(at, k + 2u), fetch_a(at, k + 3u));
}
