// Groups of 32 invocations that exchange by workgroup memory. Requires: run, the kernel.

const LANES: u32 = 32u;

var<workgroup> partial_sums: array<vec2<u32>, WG>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    run(group.x + (group.y + group.z * groups.y) * groups.x, lid / LANES, lid % LANES);
}

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
