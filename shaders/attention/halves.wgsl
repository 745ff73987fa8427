// Operand part of matrix.wgsl: f16 that lie so that four neighbouring elements are one load.

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> b: array<vec4<f16>>;
@group(0) @binding(4) var<storage, read> c: array<vec4<f16>>;

fn factors_of(share: Share) -> Factors {
    return Factors(1.0, 1.0, 1.0, params.scale, 1.0, false);
}

// Four elements as they lie in memory.
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
    return b[(base + min(key, params.keys - 1u) * params.k_strides.z) / 4u + vector];
}

fn value_vector(base: u32, key: u32, vector: u32) -> Four {
    return c[(base + min(key, params.keys - 1u) * params.v_strides.z) / 4u + vector];
}
