// Computes: along one axis, each element combined with all before it (from the far end with REVERSE, without itself with
//           EXCLUSIVE), as a fixed tree: the same bits on every run. With TOTALS only the last result of each chunk.
// Bindings: params, a, out (declared by the input and output parts), 3 b (by the carry part, in the last of three passes).
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of a row covers chunk_len elements from c * chunk_len.
// Requires: identity, combine (operator part); fetch (input part); emit (output part); carried (carry part);
//           params.count, the number of elements after the axis.
// Accuracy: (16 + n / 64) ε Σ|x| for sums over n elements, (16 + n / 2) ε of |out| for products (each factor is rounded once, all alike
//           where they are equal) and (16 + n / 64) ε of 1 + |out| for logarithms, then one rounding
//           to the dtype; extremes, integers and bool exact.

override EXCLUSIVE: bool = false;
override REVERSE: bool = false;
override TOTALS: bool = false;

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

    let inner = params.count;
    let out_base = (output / inner) * params.len * inner + output % inner;
    var base = 0u;
    var carry = identity();
    if live {
        base = kept_offset(output);
        carry = carried(output * params.chunks + chunk);
    }
    let begin = chunk * params.chunk_len;
    let end = min(params.len, begin + params.chunk_len);
    for (var tile = begin; tile < end; tile += LANES) {
        let r = tile + lane;
        let inside = live && r < end;
        var at = r;
        if REVERSE {
            at = params.len - 1u - r;
        }
        var through = identity();
        if inside {
            through = fetch(base + reduced_offset(at), at);
        }
        var before = identity();
        var total = through;
        if LANES > 1u {
            partial_acc[lid] = through;
            workgroupBarrier();
            for (var s = 1u; s < LANES; s *= 2u) {
                if lane >= s {
                    through = combine(partial_acc[lid - s * LANE_STEP], through);
                }
                workgroupBarrier();
                partial_acc[lid] = through;
                workgroupBarrier();
            }
            if lane > 0u {
                before = partial_acc[lid - LANE_STEP];
            }
            total = partial_acc[lid + (LANES - 1u - lane) * LANE_STEP];
            workgroupBarrier();
        }
        if inside && !TOTALS {
            if EXCLUSIVE {
                through = before;
            }
            emit(out_base + at * inner, combine(carry, through));
        }
        carry = combine(carry, total);
    }
    if TOTALS && live && lane == 0u {
        emit(output * params.chunks + chunk, carry);
    }
}
