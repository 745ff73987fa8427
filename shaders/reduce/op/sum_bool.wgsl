// Operator part: how many elements are true.
// Accuracy: exact.

alias acc = u32;

fn start() -> acc {
    return acc();
}

fn lift(x: elem) -> acc {
    return select(0u, 1u, x);
}

fn combine(x: acc, y: acc) -> acc {
    return x + y;
}

fn finish(v: acc) -> out_elem {
    return out_elem(v);
}
