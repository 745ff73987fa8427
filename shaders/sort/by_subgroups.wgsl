// Groups of 32 invocations that are subgroups. Requires: run, the kernel.

const LANES: u32 = 32u;

// Sums of the subgroups, 32 at most.
var<workgroup> partial_sums: array<vec2<u32>, 32>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    run(group.x + (group.y + group.z * groups.y) * groups.x, subgroup, lane);
}

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
