// -x

fn apply(x: elem) -> elem {
    return -x;
}
