// Access part: four neighbours of a row at a time, where rows lie in memory in whole vectors and `r` is a multiple of four.
// Requires: load_value4 (value part); reduced_offset.

// Those from place r on, which are all before the end of the row.
fn row4(base: u32, r: u32) -> vec4<elem> {
    return load_value4(base + reduced_offset(r));
}

// Those from place r on; past the end, any.
fn row4_tail(base: u32, r: u32, end: u32) -> vec4<elem> {
    return row4(base, r);
}
