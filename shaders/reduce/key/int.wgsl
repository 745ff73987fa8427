// Key part: integers are their own keys; LEAST = 1 reverses the order.

override LEAST: u32 = 0u;

alias key = elem;

fn to_key(x: elem) -> key {
    return select(x, ~x, LEAST == 1u);
}

fn from_key(k: key) -> elem {
    return select(k, ~k, LEAST == 1u);
}

fn tie_key(x: elem) -> key {
    return to_key(x);
}

fn greatest_tie_key(x: vec4<elem>) -> key {
    return max(max(to_key(x.x), to_key(x.y)), max(to_key(x.z), to_key(x.w)));
}

fn from_tie_key(k: key) -> elem {
    return from_key(k);
}
