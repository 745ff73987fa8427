// x / y

fn apply(x: elem, y: elem) -> elem {
    return x / y;
}
