// x, unchanged.

fn apply(x: elem) -> out_elem {
    return x;
}
