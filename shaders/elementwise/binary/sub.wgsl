// x - y; integers wrap.

fn apply(x: elem, y: elem) -> elem {
    return x - y;
}
