// exp(x) for x <= 0, for shares that are stored with 11 bits or fewer: by the adapter's exp2, see functions/narrow.wgsl.

fn exp_nonpositive(x: f32) -> f32 {
    return exp2(1.44269504 * max(x, -150.0));
}
