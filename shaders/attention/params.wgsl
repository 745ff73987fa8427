// Parameters of attention. Strides are two's-complement u32 of (batch, head, row, element).

struct Params {
    heads: u32,
    kv_heads: u32,
    queries: u32,
    keys: u32,
    head_dim: u32,
    value_dim: u32,
    // A workgroup has one of row_tiles tiles of the rows of a key head from row0 on, one of column_tiles of the columns, and one
    // of splits ranges of `span` keys.
    row0: u32,
    row_tiles: u32,
    // Rows per key head of which there is state.
    state_rows: u32,
    column_tiles: u32,
    splits: u32,
    span: u32,
    batches: u32,
    flags: u32,
    left: i32,
    right: i32,
    shift: i32,
    scale: f32,
    softcap: f32,
    q_offset: u32,
    k_offset: u32,
    v_offset: u32,
    out_offset: u32,
    mask_offset: u32,
    lengths_offset: u32,
    factors_offset: u32,
    reserved_0: u32,
    reserved_1: u32,
    q_strides: vec4<u32>,
    k_strides: vec4<u32>,
    v_strides: vec4<u32>,
    mask_strides: vec4<u32>,
    // Of (batch, head, key, which of both).
    factors_strides: vec4<u32>,
}
