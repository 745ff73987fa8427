// Factor part: one over the length of the row, or over eps if that is greater. NaN stays NaN.

fn factor_of(squares: f32) -> f32 {
    let length = sqrt(squares);
    if length < params.eps {
        return 1.0 / params.eps;
    }
    return 1.0 / length;
}
