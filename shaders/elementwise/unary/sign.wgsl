// -1, 0 or 1; NaN stays NaN, both zeros give 0.

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    return f32(x > 0.0) - f32(x < 0.0);
}
