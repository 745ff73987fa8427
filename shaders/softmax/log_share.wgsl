// Result part: the logarithms of elements' shares of the sum, or NaN in rows without a finite greatest element. Requires `apply`:
// the logarithm.

// What shares are computed with.
fn rest_of(sum: f32) -> f32 {
    return apply(sum);
}

fn share(x: f32, w: f32, greatest: f32, rest: f32) -> f32 {
    if bitcast<u32>(x) == 0xff800000u {
        return x;
    }
    return (x - greatest) - rest;
}
