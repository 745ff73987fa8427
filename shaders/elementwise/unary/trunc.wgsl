// x without its fraction.

fn apply(x: elem) -> elem {
    return trunc(x);
}
