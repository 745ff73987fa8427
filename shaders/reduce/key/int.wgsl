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
