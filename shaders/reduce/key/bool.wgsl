// Key part: false is 0, true is 1; LEAST = 1 reverses the order.

override LEAST: u32 = 0u;

alias key = u32;

fn to_key(x: elem) -> key {
    return select(0u, 1u, x != (LEAST == 1u));
}

fn from_key(k: key) -> bool {
    return (k == 1u) != (LEAST == 1u);
}

fn tie_key(x: elem) -> key {
    return to_key(x);
}
