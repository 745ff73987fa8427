// Operand part of pieces.wgsl: f32 that lie so that four neighbouring elements are one load. Those of a head, times a power of two,
// become two f16. Requires unpack.

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(3) var<storage, read> b: array<words>;
@group(0) @binding(4) var<storage, read> c: array<words>;

// Four elements as they lie in memory.
alias Four = vec4<f32>;

// The higher f16 of four elements, and 2^11 times what it leaves of them. Rounded by bits before it is f16: otherwise NVIDIA's
// compiler may take what becomes f16 and f32 again for what it was, and nothing would be left for the lower one.
fn higher(v: vec4<f32>) -> vec4<f16> {
    return vec4<f16>(bitcast<vec4<f32>>((bitcast<vec4<u32>>(v) + vec4<u32>(0x1000u)) & vec4<u32>(0xffffe000u)));
}

fn lower(v: vec4<f32>, high: vec4<f16>) -> vec4<f16> {
    return vec4<f16>((v - vec4<f32>(high)) * 2048.0);
}

fn careful_four(v: Four, factor: f32) -> vec4<f32> {
    return v * factor;
}

// Vectors of a query, key and value. What stands in for keys behind the last one is hidden.
fn query_vector(base: u32, vector: u32) -> Four {
    return unpack(a[base / 4u + vector]);
}

fn key_vector(base: u32, key: u32, vector: u32) -> Four {
    return unpack(b[(base + min(key, params.keys - 1u) * params.k_strides.z) / 4u + vector]);
}

fn value_vector(base: u32, key: u32, vector: u32) -> Four {
    return unpack(c[(base + min(key, params.keys - 1u) * params.v_strides.z) / 4u + vector]);
}
