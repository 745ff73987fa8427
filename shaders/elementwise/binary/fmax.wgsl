// The larger one; a NaN loses against a number.

fn apply(x: elem, y: elem) -> elem {
    if is_nan(x) {
        return y;
    }
    if is_nan(y) {
        return x;
    }
    return select(y, x, x > y);
}
