// Sums over the invocations of a workgroup by subgroups. Requires: LANES.

// Sums of the subgroups, 32 at most.
var<workgroup> partial_sums: array<vec2<u32>, 32>;

// The sum of `own` of the invocations before this one.
fn sums_before(subgroup: u32, lane: u32, own: vec2<u32>) -> vec2<u32> {
    var before = subgroupExclusiveAdd(own);
    if lane == LANES - 1u {
        partial_sums[subgroup] = before + own;
    }
    workgroupBarrier();
    for (var other = 0u; other < subgroup; other++) {
        before += partial_sums[other];
    }
    return before;
}
