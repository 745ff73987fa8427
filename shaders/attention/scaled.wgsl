// Operand part of matrix.wgsl: bf16 that lie so that four neighbouring elements are one load. Those of a head become f16 by a
// power of two. Requires unpack.

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(3) var<storage, read> b: array<words>;
@group(0) @binding(4) var<storage, read> c: array<words>;

// Four elements as they lie in memory.
alias Four = words;

fn as_halves(v: Four, factor: f32) -> vec4<f16> {
    return vec4<f16>(unpack(v) * factor);
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
