// Parameters of the flat bodies. Offsets count elements from the start of the binding.

struct Params {
    len: u32,
    offset_out: u32,
    offset_a: u32,
    offset_b: u32,
    offset_c: u32,
}
