// The smaller one.

fn apply(x: elem, y: elem) -> elem {
    return min(x, y);
}
