// Operator part: 1 while all elements are true, then 0.

alias acc = u32;

fn lift(x: elem) -> acc {
    return select(0u, 1u, x);
}

fn combine(x: acc, y: acc) -> acc {
    return x * y;
}

fn finish(v: acc) -> out_elem {
    return out_elem(v);
}

fn identity() -> acc {
    return 1u;
}
