// The larger one.

fn apply(x: elem, y: elem) -> elem {
    return max(x, y);
}
