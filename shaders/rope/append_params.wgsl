// Parameters of the rotary embedding whose keys and values go to caches.

struct Params {
    // Vectors of four elements in all, and of a head.
    vectors: u32,
    width: u32,
    // Heads of queries, and of keys; at least 1 each.
    heads: u32,
    key_heads: u32,
    rotary: u32,
    table_rows: u32,
    // Positions that there is room for.
    capacity: u32,
    // The first element of the rows, and the steps from slot to slot and from head to head, in elements.
    offset: u32,
    slot_step: u32,
    head_step: u32,
    out_offset: u32,
    keys_offset: u32,
    values_offset: u32,
    cos_offset: u32,
    sin_offset: u32,
    positions_offset: u32,
}
