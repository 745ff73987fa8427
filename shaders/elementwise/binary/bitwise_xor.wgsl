// The bits in one only.

fn apply(x: elem, y: elem) -> elem {
    return x ^ y;
}
