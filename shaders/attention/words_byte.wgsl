// Operand part of tile.wgsl: keys and values of i8 of any strides, element by element, times their factors. Requires from_word_i8,
// word_index_i8, key_factor, value_factor (factors part).

@group(0) @binding(3) var<storage, read> b: array<word_i8>;
@group(0) @binding(4) var<storage, read> c: array<word_i8>;

// Elements d .. d + 3 of a key of the head whose first element is at `base`.
fn fetch_k(base: u32, key: u32, d: u32) -> vec4<f32> {
    var four = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if key < params.keys && d + i < params.head_dim {
            let at = base + key * params.k_strides.z + (d + i) * params.k_strides.w;
            four[i] = f32(from_word_i8(b[word_index_i8(at)], at)) * key_factor(key, params.keys);
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
            four[i] = f32(from_word_i8(c[word_index_i8(at)], at)) * value_factor(key, params.keys);
        }
    }
    return four;
}
