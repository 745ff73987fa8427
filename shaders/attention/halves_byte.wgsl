// Operand part of matrix.wgsl: queries of f16, and keys and values of i8 which become f16 times their factors, as if they had been
// stored so; four neighbouring elements are one load. Requires unpack_i8, key_factor, value_factor (factors part).

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> b: array<words_i8>;
@group(0) @binding(4) var<storage, read> c: array<words_i8>;

fn factors_of(share: Share) -> Factors {
    return Factors(1.0, 1.0, 1.0, params.scale, 1.0, false);
}

// Four elements.
alias Four = vec4<f16>;

fn as_halves(v: Four, factor: f32) -> vec4<f16> {
    return v;
}

fn careful_four(v: Four, factor: f32) -> vec4<f32> {
    return vec4<f32>(as_halves(v, factor));
}

// Vectors of a query, key and value. What stands in for keys behind the last one is hidden.
fn query_vector(base: u32, vector: u32) -> Four {
    return a[base / 4u + vector];
}

fn key_vector(base: u32, key: u32, vector: u32) -> Four {
    let near = min(key, params.keys - 1u);
    let four = unpack_i8(b[(base + near * params.k_strides.z) / 4u + vector]);
    return vec4<f16>(vec4<f32>(four) * key_factor(near, params.keys));
}

fn value_vector(base: u32, key: u32, vector: u32) -> Four {
    let near = min(key, params.keys - 1u);
    let four = unpack_i8(c[(base + near * params.v_strides.z) / 4u + vector]);
    return vec4<f16>(vec4<f32>(four) * value_factor(near, params.keys));
}
