// Operator part: product of numbers in the compute type; integers wrap.

alias acc = elem;

fn lift(x: elem) -> acc {
    return x;
}

fn combine(x: acc, y: acc) -> acc {
    return x * y;
}

fn finish(v: acc) -> out_elem {
    return out_elem(v);
}

fn identity() -> acc {
    return acc(1);
}
