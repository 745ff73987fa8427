// Computes: one value per output: combine over its reduced elements, as a fixed tree (the same bits on every run).
//           Each lane adds blocks of 256 elements before it adds the blocks, so that long sums stay accurate.
// Bindings: params, a, out (declared by the input and output parts).
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of an output covers chunk_len elements from c * chunk_len.
// Requires: acc, start, combine (operator part); fetch (input part); emit (output part).
// Accuracy: that of the operator part.

const BLOCK: u32 = 64u;

var<workgroup> partial_acc: array<acc, WG>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let chunk = id % params.chunks;
    let row = (lid / ROW_STEP) % ROWS;
    let lane = (lid / LANE_STEP) % LANES;
    let output = (id / params.chunks) * ROWS + row;
    let live = output < params.outputs;

    var total = start();
    if live {
        let base = kept_offset(output);
        let end = min(params.len, (chunk + 1u) * params.chunk_len);
        var r = chunk * params.chunk_len + lane;
        while r + 3u * LANES < end {
            var s0 = start();
            var s1 = s0;
            var s2 = s0;
            var s3 = s0;
            for (var step = 0u; step < BLOCK && r + 3u * LANES < end; step++) {
                s0 = combine(s0, fetch(base + reduced_offset(r)));
                s1 = combine(s1, fetch(base + reduced_offset(r + LANES)));
                s2 = combine(s2, fetch(base + reduced_offset(r + 2u * LANES)));
                s3 = combine(s3, fetch(base + reduced_offset(r + 3u * LANES)));
                r += 4u * LANES;
            }
            total = combine(total, combine(combine(s0, s1), combine(s2, s3)));
        }
        for (; r < end; r += LANES) {
            total = combine(total, fetch(base + reduced_offset(r)));
        }
    }

    if LANES > 1u {
        partial_acc[lid] = total;
        workgroupBarrier();
        for (var s = LANES / 2u; s > 0u; s /= 2u) {
            if lane < s {
                partial_acc[lid] = combine(partial_acc[lid], partial_acc[lid + s * LANE_STEP]);
            }
            workgroupBarrier();
        }
        total = partial_acc[lid];
    }
    if live && lane == 0u {
        emit(output * params.chunks + chunk, total);
    }
}
