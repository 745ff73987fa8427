// The bits in either.

fn apply(x: elem, y: elem) -> elem {
    return x | y;
}
