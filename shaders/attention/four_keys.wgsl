// Keys and values of LANES invocations at a time: four, GROUPS from each other. Requires oct_pieces.wgsl.

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
