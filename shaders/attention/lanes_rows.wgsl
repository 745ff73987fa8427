// Computes: the same as few.wgsl, four rows of a key head, where subgroups are of one size: LANES neighbouring invocations read a key and
//           its value, eight elements each, and pass over keys of their own, as in lanes.wgsl. Of the sixteen scores of four keys and
//           rows each invocation adds up its own: halves are exchanged, then quarters, and so on. Nothing goes through workgroup
//           memory before the last key. What they read next is under way while they compute.
// Bindings: params, those of the query and operand (octs), result or state, mask, length and factors parts.
// Grid: batches * kv_heads * row_tiles * splits workgroups of 256 invocations, folded; a workgroup makes 4 rows.
// Requires: subgroups of at least LANES invocations, in the order of local invocations; query_oct (query part), key_oct, value_oct
//           (operand part), key_factor, value_factor, factored (factors part), seen_score, keys_of, shift_of (length part), finish (state
//           part), weights_of, oct_pieces.wgsl, four_keys.wgsl, sums.wgsl. Integers times a query have to stay within f32.
// Accuracy: 8 ε · (4 · dim · scale + 8) for values up to 2, then one rounding to the dtype.

override WG: u32 = 256u;
// Invocations of a key: 4, 8, 16 or 32.
override LANES: u32 = 16u;

const ROWS: u32 = 4u;
// The four keys of LANES invocations at a time lie as far from each other as there are such groups.
override GROUPS: u32 = WG / LANES;
override KEYS: u32 = GROUPS * 4u;
// Scores that an invocation has of sixteen, which are of one row: score i is of row i / 4 and key i % 4, and is with invocation i / OWN.
// Of 32 invocations those of the upper half have the same ones as the lower.
override SPREAD: u32 = min(LANES, 16u);
override OWN: u32 = 16u / SPREAD;

// Sums of all groups for a row, two vectors per invocation; the greatest scores and the sums of weights of each group.
var<workgroup> partial_sums: array<vec4<f32>, 512>;
var<workgroup> partial_tops: array<vec4<f32>, 64>;
var<workgroup> partial_totals: array<vec4<f32>, 64>;

// What is left of two halves: the one of this invocation, to which that of the invocation at a distance of `by` is added.
fn half_of(low: vec4<f32>, high: vec4<f32>, lane: u32, by: u32) -> vec4<f32> {
    let upper = (lane & by) != 0u;
    return select(low, high, upper) + subgroupShuffleXor(select(high, low, upper), by);
}

// The scores of this invocation, of those of each row for four keys; the others of the vector are hidden.
fn own_scores(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>, lane: u32) -> vec4<f32> {
    let row = half_of(half_of(a, c, lane, SPREAD / 2u), half_of(b, d, lane, SPREAD / 2u), lane, SPREAD / 4u);
    var own = row;
    if SPREAD >= 8u {
        let by = SPREAD / 8u;
        let upper = (lane & by) != 0u;
        let two = select(row.xy, row.zw, upper) + subgroupShuffleXor(select(row.zw, row.xy, upper), by);
        own = vec4<f32>(two, -inf_f32(), -inf_f32());
        if SPREAD >= 16u {
            let second = (lane & 1u) != 0u;
            own.x = select(two.x, two.y, second) + subgroupShuffleXor(select(two.y, two.x, second), 1u);
            own.y = -inf_f32();
        }
    }
    if LANES == 32u {
        own.x += subgroupShuffleXor(own.x, 16u);
    }
    return own;
}

fn dot_oct(q: Oct, k: Oct) -> f32 {
    return dot(q.lo, k.lo) + dot(q.hi, k.hi);
}

// The greatest of a number of all invocations that have scores of the same row.
fn greatest_in_row(x: f32) -> f32 {
    var greatest = x;
    if LANES >= 8u {
        greatest = max(greatest, subgroupShuffleXor(greatest, 1u));
    }
    if LANES >= 16u {
        greatest = max(greatest, subgroupShuffleXor(greatest, 2u));
    }
    return greatest;
}

// Their sum.
fn sum_in_row(x: f32) -> f32 {
    var sum = x;
    if LANES >= 8u {
        sum += subgroupShuffleXor(sum, 1u);
    }
    if LANES >= 16u {
        sum += subgroupShuffleXor(sum, 2u);
    }
    return sum;
}

// A number of each row, from the first invocation of `base` on.
fn of_rows(x: f32, base: u32) -> vec4<f32> {
    return vec4<f32>(
        subgroupShuffle(x, base),
        subgroupShuffle(x, base + 4u / OWN),
        subgroupShuffle(x, base + 8u / OWN),
        subgroupShuffle(x, base + 12u / OWN),
    );
}

// The weights of all rows for a key of the four.
fn weights_for(own: vec4<f32>, key: u32, base: u32) -> vec4<f32> {
    let two = select(own.x, own.y, key % 2u == 1u);
    let four = select(two, select(own.z, own.w, key % 2u == 1u), key >= 2u);
    let own_of = select(select(own.x, two, OWN == 2u), four, OWN == 4u);
    return of_rows(own_of, base + key / OWN);
}

fn row_at(share: Share, number: u32) -> Query {
    let row = min(share.row0 + number, share.rows - 1u);
    let query = row % params.queries;
    return Query(share.batch, share.head0 + row / params.queries, query, i32(query) + share.shift);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
    @builtin(subgroup_invocation_id) place: u32,
) {
    let share = share_of(group.x + (group.y + group.z * groups.y) * groups.x, ROWS, KEYS);
    begin_factors(share);
    let end = share.keys.y;
    let k_base = params.k_offset + share.batch * params.k_strides.x + share.kv_head * params.k_strides.y;
    let v_base = params.v_offset + share.batch * params.v_strides.x + share.kv_head * params.v_strides.y;
    let lane = lid % LANES;
    let element_at = lane * 8u;
    let group_of = lid / LANES;
    // The first invocation of this group, by its place in the subgroup.
    let base = place - place % LANES;
    // Whose scores this invocation has, and of which of the four keys.
    let first_own = lane * OWN % 16u;
    let at = row_at(share, first_own / 4u);
    let own_key = group_of + first_own % 4u * GROUPS;

    var keys = keys_at(k_base, share.keys.x + group_of, end, element_at);
    let qa = query_at(row_at(share, 0u), element_at);
    let qb = query_at(row_at(share, 1u), element_at);
    let qc = query_at(row_at(share, 2u), element_at);
    let qd = query_at(row_at(share, 3u), element_at);
    var sums = Sums();
    // Of this invocation's row.
    var top = -inf_f32();
    // Of its own scores.
    var total = 0.0;
    for (var first = share.keys.x; first < end; first += KEYS) {
        let values = values_at(v_base, first + group_of, end, element_at);
        let key = first + own_key;
        var key_scales = vec4<f32>(1.0);
        var value_scales = vec4<f32>(1.0);
        if FACTORED {
            key_scales.x = key_factor(key, end);
            value_scales.x = value_factor(key, end);
            if OWN > 1u {
                key_scales.y = key_factor(key + GROUPS, end);
                value_scales.y = value_factor(key + GROUPS, end);
            }
            if OWN > 2u {
                key_scales.z = key_factor(key + 2u * GROUPS, end);
                value_scales.z = value_factor(key + 2u * GROUPS, end);
                key_scales.w = key_factor(key + 3u * GROUPS, end);
                value_scales.w = value_factor(key + 3u * GROUPS, end);
            }
        }
        let ka = oct_of(keys.a);
        let kb = oct_of(keys.b);
        let kc = oct_of(keys.c);
        let kd = oct_of(keys.d);
        let a = vec4<f32>(dot_oct(qa, ka), dot_oct(qa, kb), dot_oct(qa, kc), dot_oct(qa, kd));
        let b = vec4<f32>(dot_oct(qb, ka), dot_oct(qb, kb), dot_oct(qb, kc), dot_oct(qb, kd));
        let c = vec4<f32>(dot_oct(qc, ka), dot_oct(qc, kb), dot_oct(qc, kc), dot_oct(qc, kd));
        let d = vec4<f32>(dot_oct(qd, ka), dot_oct(qd, kb), dot_oct(qd, kc), dot_oct(qd, kd));
        keys = keys_at(k_base, first + KEYS + group_of, end, element_at);
        var s = own_scores(a, b, c, d, lane);
        if FACTORED {
            s *= key_scales;
        }
        if CAPPED || MASKED || first < share.all.x || first + KEYS > share.all.y {
            s.x = seen_score(s.x, at, key, share.count);
            if OWN > 1u {
                s.y = seen_score(s.y, at, key + GROUPS, share.count);
            }
            if OWN > 2u {
                s.z = seen_score(s.z, at, key + 2u * GROUPS, share.count);
                s.w = seen_score(s.w, at, key + 3u * GROUPS, share.count);
            }
        }
        let greatest = max(top, greatest_in_row(greatest_of(s)));
        let faded = weights_of(vec4<f32>(top), vec4<f32>(greatest)).x;
        top = greatest;
        let w = weights_of(s, vec4<f32>(top));
        total = total * faded + ((w.x + w.y) + (w.z + w.w));
        let x = factored(w, value_scales);
        fade(&sums, of_rows(faded, base));
        add_value(&sums, weights_for(x, 0u, base), values.a);
        add_value(&sums, weights_for(x, 1u, base), values.b);
        add_value(&sums, weights_for(x, 2u, base), values.c);
        add_value(&sums, weights_for(x, 3u, base), values.d);
    }

    // What all groups have, relative to the greatest scores of all.
    let tops = of_rows(top, base);
    let totals = of_rows(sum_in_row(total), base);
    if lane == 0u {
        partial_tops[group_of] = tops;
    }
    workgroupBarrier();
    var greatest = partial_tops[0];
    for (var i = 1u; i < GROUPS; i++) {
        greatest = max(greatest, partial_tops[i]);
    }
    let faded = weights_of(tops, greatest);
    if lane == 0u {
        // NaN, of a score that is not a number, has to stay; a group without other scores fades to nothing.
        partial_totals[group_of] = totals * faded;
    }
    fade(&sums, faded);
    let rows = min(ROWS, share.rows - share.row0);
    for (var r = 0u; r < rows; r++) {
        partial_sums[lid * 2u] = row_of(sums.lo, r);
        partial_sums[lid * 2u + 1u] = row_of(sums.hi, r);
        workgroupBarrier();
        if lid < LANES * 2u && share.inside {
            var sum = vec4<f32>();
            var all = 0.0;
            for (var i = 0u; i < GROUPS; i++) {
                sum += partial_sums[i * LANES * 2u + lid];
                all += element(partial_totals[i], r);
            }
            finish(share, share.row0 + r, lid * 4u, sum, element(greatest, r), all);
        }
        workgroupBarrier();
    }
}
