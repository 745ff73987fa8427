// Operand part of tile.wgsl: keys and values of i8 that lie so that four neighbouring elements are one load, times their factors.
// Requires unpack_i8, key_factor, value_factor (factors part).

@group(0) @binding(3) var<storage, read> b: array<words_i8>;
@group(0) @binding(4) var<storage, read> c: array<words_i8>;

// Elements d .. d + 3 of a key of the head whose first element is at `base`.
fn fetch_k(base: u32, key: u32, d: u32) -> vec4<f32> {
    if key < params.keys && d < params.head_dim {
        return vec4<f32>(unpack_i8(b[(base + key * params.k_strides.z + d) / 4u])) * key_factor(key, params.keys);
    }
    return vec4<f32>();
}

// The same of a value.
fn fetch_v(base: u32, key: u32, column: u32) -> vec4<f32> {
    if key < params.keys && column < params.value_dim {
        return vec4<f32>(unpack_i8(c[(base + key * params.v_strides.z + column) / 4u])) * value_factor(key, params.keys);
    }
    return vec4<f32>();
}
