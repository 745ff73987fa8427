// Toward zero, saturating; NaN gives 0.

fn apply(x: elem) -> out_elem {
    if is_nan(x) {
        return out_elem(0);
    }
    if x >= 255.0 {
        return 255u;
    }
    if x <= 0.0 {
        return 0u;
    }
    return out_elem(x);
}
