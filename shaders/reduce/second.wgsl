// Computes: one value per output: combine over accumulators left by an earlier pass, as a fixed tree.
// Bindings: params, a, out (declared by the output part).
// Grid: ceil(outputs / ROWS) workgroups, folded.
// Requires: acc, start, combine (operator part); over_lanes of one; emit (output part).
// Accuracy: that of the operator part.

@group(0) @binding(1) var<storage, read> a: array<acc>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = (lid / ROW_STEP) % ROWS;
    let lane = (lid / LANE_STEP) % LANES;
    let output = folded(group, groups) * ROWS + row;
    let live = output < params.outputs;

    var total = start();
    if live {
        let base = kept_offset(output);
        for (var r = lane; r < params.len; r += LANES) {
            total = combine(total, a[base + reduced_offset(r)]);
        }
    }
    total = over_lanes(lid, lane, total);
    if live && lane == 0u {
        emit(output, total);
    }
}
