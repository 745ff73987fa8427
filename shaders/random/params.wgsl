// Parameters of random numbers.

struct Params {
    len: u32,
    offset_out: u32,
    seed_low: u32,
    seed_high: u32,
    // The counter of the first four values, its upper half.
    first_low: u32,
    first_high: u32,
    stream_low: u32,
    stream_high: u32,
    // Of integers: the least one, and how many there are.
    low: u32,
    count: u32,
}
