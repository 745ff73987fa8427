// Computes: the same as few.wgsl for one row per key head, where subgroups are of one size: LANES neighbouring invocations read a
//           key and its value, eight elements each, and pass over keys of their own. Nothing goes through workgroup memory before
//           the last key. What they read next is under way while they compute.
// Bindings: params, those of the query and operand (octs), result or state, mask, length and factors parts.
// Grid: batches * kv_heads * row_tiles * splits workgroups of 256 invocations, folded; a workgroup makes one row.
// Requires: subgroups of at least LANES invocations, in the order of local invocations; query_oct (query part), key_oct,
//           value_oct (operand part), key_factor, value_factor, factored (factors part), seen_score, keys_of, shift_of (length part), finish
//           (state part), weights_of, oct_pieces.wgsl, four_keys.wgsl. Integers times a query have to stay within f32.
// Accuracy: 8 ε · (4 · dim · scale + 8) for values up to 2, then one rounding to the dtype.

override WG: u32 = 256u;
// Invocations of a key: 4, 8, 16 or 32.
override LANES: u32 = 16u;

// The four keys of LANES invocations at a time lie as far from each other as there are such groups.
override GROUPS: u32 = WG / LANES;
override KEYS: u32 = GROUPS * 4u;

// Sums of all groups, two vectors per invocation; the greatest score and the sum of weights of each group.
var<workgroup> partial_sums: array<vec4<f32>, 512>;
var<workgroup> partial_tops: array<f32, 64>;
var<workgroup> partial_totals: array<f32, 64>;

// Factors of four keys, and of their values.
fn key_factors_at(key: u32, end: u32) -> vec4<f32> {
    return vec4<f32>(
        key_factor(key, end),
        key_factor(key + GROUPS, end),
        key_factor(key + 2u * GROUPS, end),
        key_factor(key + 3u * GROUPS, end),
    );
}

fn value_factors_at(key: u32, end: u32) -> vec4<f32> {
    return vec4<f32>(
        value_factor(key, end),
        value_factor(key + GROUPS, end),
        value_factor(key + 2u * GROUPS, end),
        value_factor(key + 3u * GROUPS, end),
    );
}

fn product(q: Oct, k: Oct) -> f32 {
    let p = q.lo * k.lo + q.hi * k.hi;
    return (p.x + p.y) + (p.z + p.w);
}

// Adds the values of four keys, but not those of weight 0: they may be NaN or infinite.
fn add_values(to: Oct, w: vec4<f32>, a: Oct, b: Oct, c: Oct, d: Oct) -> Oct {
    var sums = to;
    if any_zero(w) {
        let none = vec4<f32>();
        let out = bitcast<vec4<u32>>(w) == vec4<u32>(0u);
        sums.lo += w.x * select(a.lo, none, out.x) + w.y * select(b.lo, none, out.y)
            + w.z * select(c.lo, none, out.z) + w.w * select(d.lo, none, out.w);
        sums.hi += w.x * select(a.hi, none, out.x) + w.y * select(b.hi, none, out.y)
            + w.z * select(c.hi, none, out.z) + w.w * select(d.hi, none, out.w);
    } else {
        sums.lo += w.x * a.lo + w.y * b.lo + w.z * c.lo + w.w * d.lo;
        sums.hi += w.x * a.hi + w.y * b.hi + w.z * c.hi + w.w * d.hi;
    }
    return sums;
}

// Sums that fade to nothing are nothing, whatever they are.
fn faded_oct(sums: Oct, x: f32) -> Oct {
    var left = Oct();
    if bitcast<u32>(x) != 0u {
        left = Oct(sums.lo * x, sums.hi * x);
    }
    return left;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let share = share_of(group.x + (group.y + group.z * groups.y) * groups.x, 1u, KEYS);
    begin_factors(share);
    let end = share.keys.y;
    let k_base = params.k_offset + share.batch * params.k_strides.x + share.kv_head * params.k_strides.y;
    let v_base = params.v_offset + share.batch * params.v_strides.x + share.kv_head * params.v_strides.y;
    let element = lid % LANES * 8u;
    let own = lid / LANES;

    let row = min(share.row0, share.rows - 1u);
    let query = row % params.queries;
    let at = Query(share.batch, share.head0 + row / params.queries, query, i32(query) + share.shift);

    var keys = keys_at(k_base, share.keys.x + own, end, element);
    let q = query_at(at, element);
    var sums = Oct();
    var top = -inf_f32();
    var total = 0.0;
    for (var first = share.keys.x; first < end; first += KEYS) {
        let values = values_at(v_base, first + own, end, element);
        var key_scales = vec4<f32>(1.0);
        var value_scales = vec4<f32>(1.0);
        if FACTORED {
            key_scales = key_factors_at(first + own, end);
            value_scales = value_factors_at(first + own, end);
        }
        var s = vec4<f32>(product(q, oct_of(keys.a)), product(q, oct_of(keys.b)), product(q, oct_of(keys.c)), product(q, oct_of(keys.d)));
        keys = keys_at(k_base, first + KEYS + own, end, element);
        for (var by = 1u; by < LANES; by *= 2u) {
            s += subgroupShuffleXor(s, by);
        }
        if FACTORED {
            s *= key_scales;
        }
        let key = first + own;
        if CAPPED || MASKED || first < share.all.x || first + KEYS > share.all.y {
            s.x = seen_score(s.x, at, key, share.count);
            s.y = seen_score(s.y, at, key + GROUPS, share.count);
            s.z = seen_score(s.z, at, key + 2u * GROUPS, share.count);
            s.w = seen_score(s.w, at, key + 3u * GROUPS, share.count);
        }
        let greatest = max(top, greatest_of(s));
        let faded = weights_of(vec4<f32>(top), vec4<f32>(greatest)).x;
        top = greatest;
        let w = weights_of(s, vec4<f32>(top));
        total = total * faded + ((w.x + w.y) + (w.z + w.w));
        let x = factored(w, value_scales);
        sums = add_values(faded_oct(sums, faded), x, oct_of(values.a), oct_of(values.b), oct_of(values.c), oct_of(values.d));
    }

    // What all groups have, relative to the greatest score of all.
    if lid % LANES == 0u {
        partial_tops[own] = top;
    }
    workgroupBarrier();
    var greatest = partial_tops[0];
    for (var i = 1u; i < GROUPS; i++) {
        greatest = max(greatest, partial_tops[i]);
    }
    let faded = weights_of(vec4<f32>(top), vec4<f32>(greatest)).x;
    if lid % LANES == 0u {
        // NaN, of a score that is not a number, has to stay; a group without other scores fades to nothing.
        partial_totals[own] = total * faded;
    }
    sums = faded_oct(sums, faded);
    partial_sums[lid * 2u] = sums.lo;
    partial_sums[lid * 2u + 1u] = sums.hi;
    workgroupBarrier();
    if lid < LANES * 2u && share.inside && share.row0 < share.rows {
        var sum = vec4<f32>();
        var all = 0.0;
        for (var i = 0u; i < GROUPS; i++) {
            sum += partial_sums[i * LANES * 2u + lid];
            all += partial_totals[i];
        }
        finish(share, share.row0, lid * 4u, sum, greatest, all);
    }
}
