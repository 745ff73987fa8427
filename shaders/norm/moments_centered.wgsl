// Moments part: the mean of a row, and the sum of squared distances from it.

fn shift_of(v: acc) -> f32 {
    return v.mean;
}

fn squares_of(v: acc) -> f32 {
    return v.spread;
}
