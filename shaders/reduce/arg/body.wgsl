// Computes: per output, the position (row-major over the reduced axes) of the element with the greatest key;
//           among equal keys the first, or the last with LAST = 1. NaN has the greatest key.
// Bindings: params, a, out (declared by the input and output parts).
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of an output covers chunk_len elements from c * chunk_len.
// Requires: key (key part); fetch_key, fetch_position (input part); emit (output part).
// Accuracy: exact.

override LAST: u32 = 0u;

const NONE: u32 = 0xffffffffu;

var<workgroup> partial_key: array<key, WG>;
var<workgroup> partial_position: array<u32, WG>;

fn wins(k: key, at: u32, best: key, best_at: u32) -> bool {
    var better = best_at == NONE;
    if at != NONE && best_at != NONE {
        better = k > best;
        if k == best {
            better = (at > best_at) == (LAST == 1u);
        }
    }
    return better;
}

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

    var best = key();
    var best_at = NONE;
    if live {
        let base = kept_offset(output);
        let end = min(params.len, (chunk + 1u) * params.chunk_len);
        for (var r = chunk * params.chunk_len + lane; r < end; r += LANES) {
            let i = base + reduced_offset(r);
            let k = fetch_key(i);
            let at = fetch_position(i, r);
            if wins(k, at, best, best_at) {
                best = k;
                best_at = at;
            }
        }
    }

    if LANES > 1u {
        partial_key[lid] = best;
        partial_position[lid] = best_at;
        workgroupBarrier();
        for (var s = LANES / 2u; s > 0u; s /= 2u) {
            if lane < s {
                let other = lid + s * LANE_STEP;
                let k = partial_key[other];
                let at = partial_position[other];
                if wins(k, at, partial_key[lid], partial_position[lid]) {
                    partial_key[lid] = k;
                    partial_position[lid] = at;
                }
            }
            workgroupBarrier();
        }
        best = partial_key[lid];
        best_at = partial_position[lid];
    }
    if live && lane == 0u {
        emit(output * params.chunks + chunk, best, best_at);
    }
}
