// Keys and values of LANES invocations at a time: four, GROUPS from each other; and their queries. Requires oct_pieces.wgsl, query_oct
// (query part).

// Four keys or values.
struct Pieces {
    a: Packed,
    b: Packed,
    c: Packed,
    d: Packed,
}

fn keys_at(base: u32, key: u32, end: u32, d: u32) -> Pieces {
    return Pieces(
        key_piece(base, key, end, d),
        key_piece(base, key + GROUPS, end, d),
        key_piece(base, key + 2u * GROUPS, end, d),
        key_piece(base, key + 3u * GROUPS, end, d),
    );
}

fn values_at(base: u32, key: u32, end: u32, column: u32) -> Pieces {
    return Pieces(
        value_piece(base, key, end, column),
        value_piece(base, key + GROUPS, end, column),
        value_piece(base, key + 2u * GROUPS, end, column),
        value_piece(base, key + 3u * GROUPS, end, column),
    );
}

// Elements of a row's query, scaled.
fn query_at(at: Query, d: u32) -> Oct {
    var q = Oct();
    if d < params.head_dim {
        q = query_oct(params.q_offset + at.batch * params.q_strides.x + at.head * params.q_strides.y + at.query * params.q_strides.z + d);
    }
    return Oct(q.lo * params.scale, q.hi * params.scale);
}
