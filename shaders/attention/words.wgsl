// Operand part of tile.wgsl: keys and values of any strides, element by element.

@group(0) @binding(3) var<storage, read> b: array<word>;
@group(0) @binding(4) var<storage, read> c: array<word>;

// Elements d .. d + 3 of a key of the head whose first element is at `base`.
fn fetch_k(base: u32, key: u32, d: u32) -> vec4<f32> {
    var four = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if key < params.keys && d + i < params.head_dim {
            let at = base + key * params.k_strides.z + (d + i) * params.k_strides.w;
            four[i] = from_word(b[word_index(at)], at);
        }
    }
    return four;
}

// The same of a value.
fn fetch_v(base: u32, key: u32, column: u32) -> vec4<f32> {
    var four = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if key < params.keys && column + i < params.value_dim {
            let at = base + key * params.v_strides.z + (column + i) * params.v_strides.w;
            four[i] = from_word(c[word_index(at)], at);
        }
    }
    return four;
}
