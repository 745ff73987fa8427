// Operator part: sum of numbers in the compute type; integers wrap.

alias acc = elem;

fn start() -> acc {
    return acc();
}

fn lift(x: elem) -> acc {
    return x;
}

fn combine(x: acc, y: acc) -> acc {
    return x + y;
}

fn finish(v: acc) -> out_elem {
    return out_elem(v);
}
