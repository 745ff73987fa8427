// Toward zero, saturating; NaN gives 0.

fn apply(x: elem) -> out_elem {
    if is_nan(x) {
        return out_elem(0);
    }
    if x >= 2147483648.0 {
        return 2147483647;
    }
    if x <= -2147483648.0 {
        return -2147483647 - 1;
    }
    return out_elem(x);
}
