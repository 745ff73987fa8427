// Exactly one of both.

fn apply(x: elem, y: elem) -> elem {
    return x != y;
}
