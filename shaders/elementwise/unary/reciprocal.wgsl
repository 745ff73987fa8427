// 1 / x

fn apply(x: elem) -> elem {
    return 1.0 / x;
}
