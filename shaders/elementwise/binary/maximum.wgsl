// The larger one; NaN wins.

fn apply(x: elem, y: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    if is_nan(y) {
        return y;
    }
    return select(y, x, x > y);
}
