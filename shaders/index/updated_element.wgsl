// A word of a packed dtype after element `at`, one of those in it, became x.

override CELL_BITS: u32 = 8u;

fn updated(before: u32, at: u32, x: elem) -> u32 {
    let shift = (at % (32u / CELL_BITS)) * CELL_BITS;
    let mask = ((1u << CELL_BITS) - 1u) << shift;
    return (before & ~mask) | (out_bits(x) << shift);
}
