// Key part: integers as unsigned ones in the same order; BIAS takes the least to 0.

override BIAS: u32 = 0u;

fn sort_key(x: elem) -> u32 {
    return bitcast<u32>(x) + BIAS;
}
