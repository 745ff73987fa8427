// Computes: what softmax/body.wgsl does, for rows that are cut into chunks: their (greatest, sum) pairs are there already.
// Bindings: params, a (any strides; declared by the value part), out (contiguous; `count` is the number of elements after the axis;
//           declared by the store part),
//           b: the pairs of all chunks of a row, one row after the other.
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of a row covers chunk_len elements from c * chunk_len.
// Requires: row4_tail (access part), put4 (store part); rest_of, results, weights; acc, start, combine (those of logsumexp); to_key, from_key.
// Accuracy: (8 + 2 √n) ε of the share for rows of n elements, then one rounding to the dtype; logarithms (12 + 2 √n + 4 max|x|) ε.

@group(0) @binding(3) var<storage, read> b: array<acc>;

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
            whole = combine(whole, b[output * params.chunks + i]);
        }
        let greatest = from_key(whole.top);
        let finite = (bitcast<u32>(greatest) & 0x7f800000u) != 0x7f800000u;
        let inner = params.count;
        let base = kept_offset(output);
        let out_base = results_at(output, inner);
        let end = min(params.len, (chunk + 1u) * params.chunk_len);
        let rest = rest_of(whole.sum);
        for (var r = chunk * params.chunk_len + first_place(lane); r < end; r += 4u * LANES) {
            let x = row4_tail(base, r, end);
            put4(out_base, r, inner, results(x, weights(x, greatest), greatest, rest, finite));
        }
    }
}
