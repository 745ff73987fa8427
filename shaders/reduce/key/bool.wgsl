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

fn greatest_tie_key(x: vec4<elem>) -> key {
    return max(max(to_key(x.x), to_key(x.y)), max(to_key(x.z), to_key(x.w)));
}

fn from_tie_key(k: key) -> bool {
    return from_key(k);
}
