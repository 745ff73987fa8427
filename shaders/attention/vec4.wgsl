// Operand part of tile.wgsl: keys and values lie so that four neighbouring elements are one load.

@group(0) @binding(3) var<storage, read> b: array<words>;
@group(0) @binding(4) var<storage, read> c: array<words>;

// Elements d .. d + 3 of a key of the head whose first element is at `base`.
fn fetch_k(base: u32, key: u32, d: u32) -> vec4<f32> {
    if key < params.keys && d < params.head_dim {
        return unpack(b[(base + key * params.k_strides.z + d) / 4u]);
    }
    return vec4<f32>();
}

// The same of a value.
fn fetch_v(base: u32, key: u32, column: u32) -> vec4<f32> {
    if key < params.keys && column < params.value_dim {
        return unpack(c[(base + key * params.v_strides.z + column) / 4u]);
    }
    return vec4<f32>();
}
