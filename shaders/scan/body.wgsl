// Computes: along one axis, each element combined with all before it (from the far end with REVERSE, without itself with
//           EXCLUSIVE), as a fixed tree: the same bits on every run. With TOTALS only the last result of each chunk.
//           The lanes of a row take a tile of VECTORS vectors of four neighbours each, and carry its total to the next tile.
// Bindings: params, a, out (declared by the input and output parts), 3 b (by the carry part, in the last of three passes).
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of a row covers chunk_len elements from c * chunk_len, a multiple of
//       four where there are several.
// Requires: identity, combine (operator part); acc4, four (input part); put4 (output part); carried (carry part);
//           params.count, the number of elements after the axis.
// Accuracy: (16 + n / 64) ε Σ|x| for sums over n elements, (16 + n / 2) ε of |out| for products (each factor is rounded once, all alike
//           where they are equal) and (16 + n / 64) ε of 1 + |out| for logarithms, then one rounding
//           to the dtype; extremes, integers and bool exact.

override EXCLUSIVE: bool = false;
override TOTALS: bool = false;
// VECTORS accumulators per invocation.
override PARTIALS: u32 = 1024u;

const VECTORS: u32 = 4u;

var<workgroup> partial_acc: array<acc, PARTIALS>;

// What stands before each vector of a lane in its tile, and the total of the tile.
struct Before {
    each: acc4,
    total: acc,
}

// Each of four combined with those before it. Loops, because compilers put every function in where it is called: the logarithm in
// forty places took a browser's software adapter more than a minute for one kernel, of which its process died.
fn through(x: acc4) -> acc4 {
    var all = x;
    for (var i = 1u; i < 4u; i++) {
        all[i] = combine(all[i - 1u], all[i]);
    }
    return all;
}

// Vector v of a lane is number v * LANES + lane of its tile; these are the totals of a lane's vectors. Element n of the row's own
// memory is at first + n * LANE_STEP.
fn before_vectors(first: u32, lane: u32, totals: acc4) -> Before {
    let alone = through(totals);
    var result = Before(acc4(identity(), alone[0], alone[1], alone[2]), alone[3]);
    if LANES > 1u {
        for (var v = 0u; v < VECTORS; v++) {
            partial_acc[first + (v * LANES + lane) * LANE_STEP] = totals[v];
        }
        workgroupBarrier();
        // Four neighbours, so that the tree is over one value of each lane.
        let own = first + VECTORS * lane * LANE_STEP;
        let group = through(acc4(
            partial_acc[own],
            partial_acc[own + LANE_STEP],
            partial_acc[own + 2u * LANE_STEP],
            partial_acc[own + 3u * LANE_STEP],
        ));
        workgroupBarrier();
        var all = group[3];
        var half = first;
        let halves = 2u * first + LANES * LANE_STEP;
        partial_acc[half + lane * LANE_STEP] = all;
        workgroupBarrier();
        for (var s = 1u; s < LANES; s *= 2u) {
            if lane >= s {
                all = combine(partial_acc[half + (lane - s) * LANE_STEP], all);
            }
            // What others still read is in the other half.
            half = halves - half;
            partial_acc[half + lane * LANE_STEP] = all;
            workgroupBarrier();
        }
        result.total = partial_acc[half + (LANES - 1u) * LANE_STEP];
        var before = identity();
        if lane > 0u {
            before = partial_acc[half + (lane - 1u) * LANE_STEP];
        }
        workgroupBarrier();
        if !TOTALS {
            partial_acc[own] = before;
            partial_acc[own + LANE_STEP] = combine(before, group[0]);
            partial_acc[own + 2u * LANE_STEP] = combine(before, group[1]);
            partial_acc[own + 3u * LANE_STEP] = combine(before, group[2]);
            workgroupBarrier();
            result.each = acc4(
                partial_acc[first + lane * LANE_STEP],
                partial_acc[first + (LANES + lane) * LANE_STEP],
                partial_acc[first + (2u * LANES + lane) * LANE_STEP],
                partial_acc[first + (3u * LANES + lane) * LANE_STEP],
            );
            workgroupBarrier();
        }
    }
    return result;
}

// What a lane writes for four neighbours.
fn results(before: acc, x: acc4) -> acc4 {
    var all = x;
    for (var i = 0u; i < 4u; i++) {
        all[i] = combine(before, all[i]);
    }
    if EXCLUSIVE {
        all = acc4(before, all[0], all[1], all[2]);
    }
    return all;
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
    let number = (id / params.chunks) * ROWS + row;
    let live = number < params.outputs;
    // What is past the last row scans it once more.
    let output = min(number, params.outputs - 1u);

    let inner = params.count;
    let out_base = (output / inner) * params.len * inner + output % inner;
    let base = kept_offset(output);
    // Rows of a lane step lie between each other, others one behind the other.
    let first = row * select(VECTORS * ROW_STEP, 1u, ROW_STEP == 1u);
    var carry = carried(output * params.chunks + chunk);
    let begin = chunk * params.chunk_len;
    let end = min(params.len, begin + params.chunk_len);
    let step = 4u * LANES;
    for (var tile = begin; tile < end; tile += VECTORS * step) {
        let r = tile + 4u * lane;
        let none = acc4(identity(), identity(), identity(), identity());
        var x0 = four(base, r, end);
        var x1 = none;
        var x2 = none;
        var x3 = none;
        if tile + step < end {
            x1 = four(base, r + step, end);
        }
        if tile + 2u * step < end {
            x2 = four(base, r + 2u * step, end);
        }
        if tile + 3u * step < end {
            x3 = four(base, r + 3u * step, end);
        }
        x0 = through(x0);
        x1 = through(x1);
        x2 = through(x2);
        x3 = through(x3);
        let before = before_vectors(first, lane, acc4(x0[3], x1[3], x2[3], x3[3]));
        if live && !TOTALS {
            put4(out_base, r, end, results(combine(carry, before.each[0]), x0));
            put4(out_base, r + step, end, results(combine(carry, before.each[1]), x1));
            put4(out_base, r + 2u * step, end, results(combine(carry, before.each[2]), x2));
            put4(out_base, r + 3u * step, end, results(combine(carry, before.each[3]), x3));
        }
        carry = combine(carry, before.total);
    }
    if TOTALS && live && lane == 0u {
        let at = output * params.chunks + chunk;
        put4(0u, at, at + 1u, acc4(carry, carry, carry, carry));
    }
}
