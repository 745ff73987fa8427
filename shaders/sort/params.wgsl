// Parameters of the kernels that sort pairs of a key and a place by one digit of the keys, a tile of pairs per workgroup.
// Requires: PER, the pairs of an invocation.

struct Params {
    len: u32,
    // Tiles of all pairs.
    tiles: u32,
    // Where the digit begins.
    shift: u32,
    // 1: the place of a pair is its number, and is not read.
    counted: u32,
}

override WG: u32 = 128u;
// Pairs of a workgroup.
override TILE: u32 = WG * PER;

const BINS: u32 = 256u;

fn digit_of(ordered: u32) -> u32 {
    return (ordered >> params.shift) & (BINS - 1u);
}
