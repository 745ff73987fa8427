// Whether x is NaN, by bits.

fn apply(x: elem) -> out_elem {
    return is_nan(x);
}
