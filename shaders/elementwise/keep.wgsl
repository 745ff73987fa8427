// x, by way of its bits, which no compiler can see through: a product that is added to something is rounded first, as it
// is where it goes through memory, and no fused multiply-add takes its place; nor are sums rearranged.
// Requires: Params with zero, which is 0.

fn keep(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ params.zero);
}
