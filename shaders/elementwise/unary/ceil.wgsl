// The smallest integer not below x.

fn apply(x: elem) -> elem {
    return ceil(x);
}
