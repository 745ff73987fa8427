// The weight of an element beside the greatest of its row: exp(x - greatest), where -inf gives 0 without computing on it.
// Requires: exp_nonpositive.

fn weight(x: f32, greatest: f32) -> f32 {
    var y = 0.0;
    if bitcast<u32>(x) != 0xff800000u {
        y = exp_nonpositive(x - greatest);
    }
    return y;
}
