// Operator part: the element with the greatest key (maximum, or minimum with LEAST = 1); NaN wins.
// Accuracy: exact.

alias acc = key;

fn start() -> acc {
    return bitcast<acc>(params.identity);
}

fn lift(x: elem) -> acc {
    return to_key(x);
}

fn combine(x: acc, y: acc) -> acc {
    return max(x, y);
}

fn finish(v: acc) -> out_elem {
    return from_key(v);
}
