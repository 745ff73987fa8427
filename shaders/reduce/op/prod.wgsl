// Operator part: product of numbers in the compute type; integers wrap.
// Accuracy: (n + 2) ε |out| over n elements, then one rounding to the dtype; integers exact.

alias acc = elem;

fn start() -> acc {
    return acc(1);
}

fn lift(x: elem) -> acc {
    return x;
}

fn combine(x: acc, y: acc) -> acc {
    return x * y;
}

fn finish(v: acc) -> out_elem {
    return out_elem(v);
}
