// Toward zero, saturating; NaN gives 0.

fn apply(x: elem) -> out_elem {
    if is_nan(x) {
        return out_elem(0);
    }
    if x >= 127.0 {
        return 127;
    }
    if x <= -128.0 {
        return -128;
    }
    return out_elem(x);
}
