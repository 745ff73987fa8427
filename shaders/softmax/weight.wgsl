// The weight of an element beside the greatest of its row: exp(x - greatest), where -inf gives 0 without computing on it.
// Requires: exp_nonpositive.

fn weight(x: f32, greatest: f32) -> f32 {
    let lowest = bitcast<u32>(x) == 0xff800000u;
    return select(exp_nonpositive(select(x, greatest, lowest) - greatest), 0.0, lowest);
}
