// Parameters of the copies between buffers. Firsts count elements of their binding, `len` counts vectors of 16 bytes.

struct Params {
    first_a: u32,
    first_out: u32,
    len: u32,
}
