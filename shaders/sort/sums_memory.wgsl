// Sums over the invocations of a workgroup by workgroup memory. Requires: LANES.

var<workgroup> partial_sums: array<vec2<u32>, WG>;

// The sum of `own` of the invocations before this one, by doubling distances.
fn sums_before(subgroup: u32, lane: u32, own: vec2<u32>) -> vec2<u32> {
    let lid = subgroup * LANES + lane;
    var sum = own;
    partial_sums[lid] = sum;
    workgroupBarrier();
    for (var distance = 1u; distance < WG; distance *= 2u) {
        var other = vec2<u32>();
        if lid >= distance {
            other = partial_sums[lid - distance];
        }
        workgroupBarrier();
        sum += other;
        partial_sums[lid] = sum;
        workgroupBarrier();
    }
    return sum - own;
}
