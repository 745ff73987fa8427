// x * x; integers wrap.

fn apply(x: elem) -> elem {
    return x * x;
}
