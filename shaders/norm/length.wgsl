// Factor part: one over the length of the row, or over eps if that is greater. NaN stays NaN.

fn factor_of(squares: f32) -> f32 {
    // By bits: a comparison and a choice may become a maximum, which drops NaN (NVIDIA's compiler does that).
    if is_nan(squares) {
        return squares;
    }
    let length = sqrt(squares);
    if length < params.eps {
        return 1.0 / params.eps;
    }
    return 1.0 / length;
}
