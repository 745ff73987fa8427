// The bits in both.

fn apply(x: elem, y: elem) -> elem {
    return x & y;
}
