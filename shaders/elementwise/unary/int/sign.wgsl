// -1, 0 or 1.

fn apply(x: elem) -> elem {
    return elem(x > elem(0)) - elem(x < elem(0));
}
