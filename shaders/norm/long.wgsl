// Computes: what norm/body.wgsl does, for rows that are cut into chunks, of which there are accumulators already.
// Bindings: params, a (any strides; declared by the value part), out (contiguous rows; declared by the store part), those of the affine part, in_99: the accumulators
//           of all chunks of a row, one row after the other (declared by the rows part).
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of a row covers chunk_len elements from c * chunk_len.
// Requires: row4_tail (access part), put4 (store part), acc, start, combine (operator part), shift_of, squares_of (moments part),
//           factor_of (factor part), affine4 (affine part).
// Accuracy: that of norm/body.wgsl.

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
    if output < params.outputs {
        var whole = start();
        for (var i = 0u; i < params.chunks; i++) {
            whole = combine(whole, in_99[output * params.chunks + i]);
        }
        let shift = shift_of(whole);
        let factor = factor_of(squares_of(whole));
        let base = kept_offset(output);
        let out_base = results_at(output, 1u);
        let first = (output % params.period) * params.step;
        let end = min(params.len, (chunk + 1u) * params.chunk_len);
        for (var r = chunk * params.chunk_len + first_place(lane); r < end; r += 4u * LANES) {
            put4(out_base, r, 1u, affine4((row4_tail(base, r, end) - shift) * factor, first, r));
        }
    }
}
