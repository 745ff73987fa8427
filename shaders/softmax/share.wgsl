// Result part: elements' shares of the sum, or NaN in rows without a finite greatest element.

// What shares are computed with.
fn rest_of(sum: f32) -> f32 {
    return 1.0 / sum;
}

fn share(x: f32, w: f32, greatest: f32, rest: f32) -> f32 {
    return w * rest;
}
