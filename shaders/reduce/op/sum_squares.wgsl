// Operator part: sum of squares in the compute type; integers wrap.
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

alias acc = elem;

fn start() -> acc {
    return acc();
}

fn lift(x: elem) -> acc {
    return x * x;
}

fn combine(x: acc, y: acc) -> acc {
    return x + y;
}

fn finish(v: acc) -> out_elem {
    return out_elem(v);
}
