// Factor part: one over the root of the mean square, with eps inside the root.

fn factor_of(squares: f32) -> f32 {
    return 1.0 / sqrt(squares / f32(params.len) + params.eps);
}
