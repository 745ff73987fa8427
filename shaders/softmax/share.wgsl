// Result part: an element's share of the sum.

fn share(x: f32, greatest: f32, sum: f32) -> f32 {
    return weight(x, greatest) / sum;
}
