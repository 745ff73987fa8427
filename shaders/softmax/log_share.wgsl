// Result part: the logarithm of an element's share of the sum. Requires `apply`: the logarithm.

fn share(x: f32, greatest: f32, sum: f32) -> f32 {
    if bitcast<u32>(x) == 0xff800000u {
        return x;
    }
    return (x - greatest) - apply(sum);
}
