// max(x, 0)

fn apply(x: elem) -> elem {
    return max(x, elem(0));
}
