// x == y; false where either is NaN.

fn apply(x: elem, y: elem) -> out_elem {
    return x == y && !(elem_is_nan(x) || elem_is_nan(y));
}
