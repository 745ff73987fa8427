// -x, wrapping.

fn apply(x: elem) -> elem {
    return elem(0) - x;
}
