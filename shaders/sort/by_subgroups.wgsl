// Computes: what `run` computes, where groups of 32 invocations are subgroups.
// Bindings: those of run.
// Grid: one workgroup per tile, block or digit, folded.
// Requires: run.
// Accuracy: exact.

const LANES: u32 = 32u;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    run(group.x + (group.y + group.z * groups.y) * groups.x, subgroup, lane);
}
