// Parameters of the rotary embedding.

struct Params {
    elements: u32,
    rotary: u32,
    table_rows: u32,
    start: u32,
    batch_step: u32,
    offset: u32,
    out_offset: u32,
    cos_offset: u32,
    sin_offset: u32,
    ids_offset: u32,
    reserved_0: u32,
    reserved_1: u32,
    dims: vec4<u32>,
    strides: vec4<u32>,
}
