// Key part: false before true.

fn sort_key(x: elem) -> u32 {
    return select(0u, 1u, x);
}
