// Operand part of matrix.wgsl: f16 that lie so that four neighbouring elements are one load.

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> b: array<vec4<f16>>;
@group(0) @binding(4) var<storage, read> c: array<vec4<f16>>;

// Where the first element of a query is, of one that exists, and of the first key and value of a head.
fn query_base(share: Share, row: u32) -> u32 {
    let r = min(row, share.rows - 1u);
    return params.q_offset + share.batch * params.q_strides.x + (share.head0 + r / params.queries) * params.q_strides.y
        + r % params.queries * params.q_strides.z;
}

fn key_base(share: Share) -> u32 {
    return params.k_offset + share.batch * params.k_strides.x + share.kv_head * params.k_strides.y;
}

fn value_base(share: Share) -> u32 {
    return params.v_offset + share.batch * params.v_strides.x + share.kv_head * params.v_strides.y;
}

// Vectors of a query, key and value. What stands in for keys behind the last one is hidden.
fn query_vector(base: u32, vector: u32) -> vec4<f16> {
    return a[base / 4u + vector];
}

fn key_vector(base: u32, key: u32, vector: u32) -> vec4<f16> {
    return b[(base + min(key, params.keys - 1u) * params.k_strides.z) / 4u + vector];
}

fn value_vector(base: u32, key: u32, vector: u32) -> vec4<f16> {
    return c[(base + min(key, params.keys - 1u) * params.v_strides.z) / 4u + vector];
}
