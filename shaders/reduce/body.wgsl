// Computes: one value per output: combine over its reduced elements, as a fixed tree (the same bits on every run).
//           Each lane takes four neighbours at a time, and adds blocks of 256 elements before it adds the blocks, so that long
//           sums stay accurate.
// Bindings: params, a, out (declared by the value and output parts).
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of an output covers chunk_len elements from c * chunk_len.
// Requires: start, combine (operator part); block (block part); tail (tail part); row4 (access part); over_lanes of one; emit (output part).
// Accuracy: that of the operator part.

// Of 16 elements each.
const BLOCK: u32 = 16u;

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
        let step = 4u * LANES;
        var r = chunk * params.chunk_len + 4u * lane;
        while r + 3u * step + 3u < end {
            var s = start();
            for (var n = 0u; n < BLOCK && r + 3u * step + 3u < end; n++) {
                // Four loads in flight.
                let x = row4(base, r);
                let y = row4(base, r + step);
                let z = row4(base, r + 2u * step);
                let w = row4(base, r + 3u * step);
                s = combine(s, block(x, y, z, w));
                r += 4u * step;
            }
            total = combine(total, s);
        }
        for (; r < end; r += step) {
            let x = row4_tail(base, r, end);
            total = tail(total, x, end - r);
        }
    }
    total = over_lanes(lid, lane, total);
    if live && lane == 0u {
        emit(output * params.chunks + chunk, total);
    }
}
