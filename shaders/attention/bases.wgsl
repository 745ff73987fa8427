// Where the operands of matrix.wgsl lie, and what their elements are divided by.

// What queries, keys and values are multiplied by to become f16, and what makes scores and sums of them right again.
struct Factors {
    query: f32,
    key: f32,
    value: f32,
    scores: f32,
    sums: f32,
    // Whether f16 does not hold all elements of the head.
    is_flagged: bool,
}

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
