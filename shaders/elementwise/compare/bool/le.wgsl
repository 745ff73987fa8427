// false < true.

fn apply(x: elem, y: elem) -> out_elem {
    return !x || y;
}
