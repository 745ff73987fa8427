// Computes: the same as tile.wgsl for heads of f32 that two f16 hold, on matrix units: each element is two f16, the lower one 2^11 times as
//           large, and of four products three count. Two subgroups share 16 rows, whose queries both hold as matrices: each makes the
//           scores of half of a tile's keys, then the sums of half of the columns. Scores go through workgroup memory, where four
//           invocations have a row; its weights are relative to an older greatest score until they grow too large, then sums go through
//           workgroup memory too and are scaled there. Rows in which something is NaN or infinite are computed once more in f32.
// Bindings: params, those of the operand, result or state, mask, length and exponent parts.
// Grid: batches * kv_heads * row_tiles * splits workgroups of subgroups of 32, folded; a workgroup makes ROWS rows.
// Requires: 16 x 16 x 16 matrices f16 -> f32; factors_of, query_vector, key_vector, value_vector, higher, lower (operand part),
//           seen_scores, finish (state part), careful_row, blocks.wgsl.
// Accuracy: 8 ε · (4 · dim · scale + 8) for values up to 2, then one rounding to the dtype; a weight below 2^-42 of the greatest is 0.
// Source: Dao (2023), "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning"; Ootomo and Yokota (2022),
//         "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance".

override WG: u32 = 256u;
// Blocks of 16 elements of a key, at most 8; blocks of 16 columns of a subgroup, at most 4. A head may end within them: behind its
// end queries are 0, keys and values are its last vector, and columns are not stored.
override KEY_BLOCKS: u32 = 8u;
override VALUE_BLOCKS: u32 = 4u;
// Vectors of workgroup memory: of queries; then of keys and values, or of one of both at a time.
override LEN: u32 = 2176u;
// Whether keys and values are there one after the other.
override SHARED: bool = true;

override ROWS: u32 = WG / 4u;
// Rows of queries that the memory of as many keys holds.
const STAGED_ROWS: u32 = KEYS;
const MOST_LOADS: u32 = 4u;
// What the lower f16 are multiplied by.
const LOW: f32 = 0.00048828125;

// Rows of vectors, with one or two more against bank conflicts. Behind the higher f16 of all are the lower ones.
override KEY_PITCH: u32 = KEY_BLOCKS * 4u + 2u;
override VALUE_PITCH: u32 = VALUE_BLOCKS * 8u + 2u;
override LOWER_KEYS: u32 = KEYS * KEY_PITCH;
override LOWER_VALUES: u32 = KEYS * VALUE_PITCH;
override VALUES_FROM: u32 = select(2u * LOWER_KEYS, 0u, SHARED);
override LOWER_WEIGHTS: u32 = ROWS * WEIGHT_PITCH;
// Invocations of a row, and vectors of its scores that each has.
const LANES: u32 = 4u;
const VECTORS: u32 = 2u;

// Vectors of a tile that an invocation moves.
override KEY_VECTORS: u32 = KEYS * 4u * KEY_BLOCKS;
override KEY_LOADS: u32 = (KEY_VECTORS + WG - 1u) / WG;
override VALUE_LOADS: u32 = KEYS * 8u * VALUE_BLOCKS / WG;

var<workgroup> tile_all: array<vec4<f16>, LEN>;
// Scores, also sums on their way from and to matrices.
var<workgroup> tile_scores: array<vec4<f32>, ROWS * SCORE_PITCH>;
var<workgroup> tile_weights: array<vec4<f16>, 2u * ROWS * WEIGHT_PITCH>;
// Whether sums of a subgroup's rows have to be scaled, of at most eight: cooperative loads need the arrays before and behind at
// multiples of 16 bytes.
var<workgroup> tile_grown: array<u32, 8>;

// The matrix of 16 queries and 16 elements.
fn queries_at(first: u32, row: u32, block: u32) -> coop_mat16x16<f16, A> {
    let at = first + row * KEY_PITCH + block * 4u;
    return coopLoadT<coop_mat16x16<f16, A>>(&tile_all[at], KEY_PITCH);
}

// The matrix of 16 elements and 16 keys.
fn keys_at(first: u32, block: u32, key: u32) -> coop_mat16x16<f16, B> {
    let at = first + key * KEY_PITCH + block * 4u;
    return coopLoad<coop_mat16x16<f16, B>>(&tile_all[at], KEY_PITCH);
}

// The matrix of 16 keys and 16 columns.
fn values_at(first: u32, key: u32, block: u32) -> coop_mat16x16<f16, B> {
    let at = VALUES_FROM + first + key * VALUE_PITCH + block * 4u;
    return coopLoadT<coop_mat16x16<f16, B>>(&tile_all[at], VALUE_PITCH);
}

// The matrix of the weights of 16 rows and 16 keys.
fn weights_at(first: u32, row: u32, key: u32) -> coop_mat16x16<f16, A> {
    let at = first + row * WEIGHT_PITCH + key / 4u;
    return coopLoadT<coop_mat16x16<f16, A>>(&tile_weights[at], WEIGHT_PITCH);
}

// Puts four elements times a factor into workgroup memory as two f16 each. Below 2^-14 the higher one is a multiple of 2^-24: a sum with
// 0.75 has no more bits. NVIDIA's compiler leaves out what is added and subtracted again, unless a product is added.
fn put(v: vec4<f32>, factor: f32, at: u32, below: u32) {
    let high = higher(fma(v, vec4<f32>(factor), vec4<f32>(0.75)) - 0.75);
    tile_all[at] = high;
    tile_all[at + below] = lower(v * factor, high);
}

// Puts the keys of a tile into workgroup memory, of which an invocation has these.
fn put_keys(keys: ptr<function, array<Four, MOST_LOADS>>, lid: u32, factor: f32) {
    for (var i = 0u; i < KEY_LOADS; i++) {
        let n = lid + i * WG;
        if n < KEY_VECTORS {
            put((*keys)[i], factor, n / (KEY_BLOCKS * 4u) * KEY_PITCH + n % (KEY_BLOCKS * 4u), LOWER_KEYS);
        }
    }
}

// Sums of a block of columns, of the 32 values of a tile.
fn values_of_block(
    block: u32,
    w0: coop_mat16x16<f16, A>,
    w0_low: coop_mat16x16<f16, A>,
    w1: coop_mat16x16<f16, A>,
    w1_low: coop_mat16x16<f16, A>,
) -> coop_mat16x16<f32, C> {
    let v0 = values_at(0u, 0u, block);
    let v0_low = values_at(LOWER_VALUES, 0u, block);
    let v1 = values_at(0u, 16u, block);
    let v1_low = values_at(LOWER_VALUES, 16u, block);
    var low = coopMultiplyAdd(w0_low, v0, coop_mat16x16<f32, C>());
    var high = coopMultiplyAdd(w0, v0, coop_mat16x16<f32, C>());
    low = coopMultiplyAdd(w0, v0_low, low);
    high = coopMultiplyAdd(w1, v1, high);
    low = coopMultiplyAdd(w1_low, v1, low);
    low = coopMultiplyAdd(w1, v1_low, low);
    return high + low * LOW;
}

// Scales a row's sums of one block of columns.
fn scale_sums(at: u32, faded: f32) {
    for (var i = 0u; i < VECTORS; i++) {
        tile_scores[at + i] *= faded;
    }
}

// Leaves a row's sums of one block of columns; true if one is NaN or infinite.
fn finish_block(share: Share, row: u32, vector: u32, at: u32, factor: f32, top: f32, total: f32) -> bool {
    var odd = false;
    for (var i = 0u; i < VECTORS; i++) {
        let sums = tile_scores[at + i] * factor;
        odd = odd || is_odd(sums);
        finish(share, row, (vector + i) * 4u, sums, top, total);
    }
    return odd;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let share = share_of(group.x + (group.y + group.z * groups.y) * groups.x, ROWS, KEYS);
    let factors = factors_of(share);
    // Matrices want control flow that does not depend on memory: a head that is left out has no keys.
    let end = select(share.keys.y, share.keys.x, factors.is_flagged);
    let k_base = key_base(share);
    let v_base = value_base(share);

    // The rows of this subgroup's matrices, and its half of keys and columns.
    let rows = lid / 64u * 16u;
    let half = lid / 32u % 2u;
    // The row of which this invocation makes some of the weights, and some of the columns of the result.
    let row = lid / LANES;
    let side = lid % LANES;
    let pair = share.row0 + row;
    let safe = min(pair, share.rows - 1u);
    let query = safe % params.queries;
    let at = Query(share.batch, share.head0 + safe / params.queries, query, i32(query) + share.shift);
    let seen_keys = seen_by_any(at.position, at.position, share.count);
    let own_scores = row * SCORE_PITCH + side * VECTORS;
    let own_weights = row * WEIGHT_PITCH + side * VECTORS;

    if lid < 8u {
        tile_grown[lid] = 0u;
    }
    var q0 = coop_mat16x16<f16, A>();
    var q0_low = coop_mat16x16<f16, A>();
    var q1 = coop_mat16x16<f16, A>();
    var q1_low = coop_mat16x16<f16, A>();
    var q2 = coop_mat16x16<f16, A>();
    var q2_low = coop_mat16x16<f16, A>();
    var q3 = coop_mat16x16<f16, A>();
    var q3_low = coop_mat16x16<f16, A>();
    var q4 = coop_mat16x16<f16, A>();
    var q4_low = coop_mat16x16<f16, A>();
    var q5 = coop_mat16x16<f16, A>();
    var q5_low = coop_mat16x16<f16, A>();
    var q6 = coop_mat16x16<f16, A>();
    var q6_low = coop_mat16x16<f16, A>();
    var q7 = coop_mat16x16<f16, A>();
    var q7_low = coop_mat16x16<f16, A>();
    // Queries go through the memory of keys and values, as many at a time as it has room for.
    for (var from_row = 0u; from_row < ROWS; from_row += STAGED_ROWS) {
        workgroupBarrier();
        for (var n = lid; n < STAGED_ROWS * KEY_BLOCKS * 4u; n += WG) {
            let line = n / (KEY_BLOCKS * 4u);
            let vector = n % (KEY_BLOCKS * 4u);
            let four = query_vector(query_base(share, share.row0 + from_row + line), inside(vector, params.head_dim));
            put(select(vec4<f32>(), four, vector * 4u < params.head_dim), factors.query, line * KEY_PITCH + vector, LOWER_KEYS);
        }
        workgroupBarrier();
        // Matrices are loaded by all subgroups, and kept by those whose rows these are.
        let own = rows / STAGED_ROWS * STAGED_ROWS == from_row;
        let line = rows % STAGED_ROWS;
        let n0 = queries_at(0u, line, 0u);
        let n0_low = queries_at(LOWER_KEYS, line, 0u);
        if own {
            q0 = n0;
            q0_low = n0_low;
        }
        if KEY_BLOCKS > 1u {
            let n1 = queries_at(0u, line, 1u);
            let n1_low = queries_at(LOWER_KEYS, line, 1u);
            if own {
                q1 = n1;
                q1_low = n1_low;
            }
        }
        if KEY_BLOCKS > 2u {
            let n2 = queries_at(0u, line, 2u);
            let n2_low = queries_at(LOWER_KEYS, line, 2u);
            if own {
                q2 = n2;
                q2_low = n2_low;
            }
        }
        if KEY_BLOCKS > 3u {
            let n3 = queries_at(0u, line, 3u);
            let n3_low = queries_at(LOWER_KEYS, line, 3u);
            if own {
                q3 = n3;
                q3_low = n3_low;
            }
        }
        if KEY_BLOCKS > 4u {
            let n4 = queries_at(0u, line, 4u);
            let n4_low = queries_at(LOWER_KEYS, line, 4u);
            if own {
                q4 = n4;
                q4_low = n4_low;
            }
        }
        if KEY_BLOCKS > 5u {
            let n5 = queries_at(0u, line, 5u);
            let n5_low = queries_at(LOWER_KEYS, line, 5u);
            if own {
                q5 = n5;
                q5_low = n5_low;
            }
        }
        if KEY_BLOCKS > 6u {
            let n6 = queries_at(0u, line, 6u);
            let n6_low = queries_at(LOWER_KEYS, line, 6u);
            if own {
                q6 = n6;
                q6_low = n6_low;
            }
        }
        if KEY_BLOCKS > 7u {
            let n7 = queries_at(0u, line, 7u);
            let n7_low = queries_at(LOWER_KEYS, line, 7u);
            if own {
                q7 = n7;
                q7_low = n7_low;
            }
        }
    }
    var o0 = coop_mat16x16<f32, C>();
    var o1 = coop_mat16x16<f32, C>();
    var o2 = coop_mat16x16<f32, C>();
    var o3 = coop_mat16x16<f32, C>();

    var next_keys: array<Four, MOST_LOADS>;
    var next_values: array<Four, MOST_LOADS>;
    for (var i = 0u; i < KEY_LOADS; i++) {
        let n = lid + i * WG;
        next_keys[i] = key_vector(k_base, share.keys.x + n / (KEY_BLOCKS * 4u), inside(n % (KEY_BLOCKS * 4u), params.head_dim));
    }
    workgroupBarrier();
    put_keys(&next_keys, lid, factors.key);
    workgroupBarrier();

    var top = -inf_f32();
    var seen = false;
    // The score that weights are relative to.
    var base = 0.0;
    var total = 0.0;
    let to = rows * SCORE_PITCH + half * 4u;
    let key0 = half * 16u;
    let block0 = half * VALUE_BLOCKS;
    for (var first = share.keys.x; first < end; first += KEYS) {
        // The values of this tile, and the keys of the next one, are under way meanwhile.
        for (var i = 0u; i < KEY_LOADS; i++) {
            let n = lid + i * WG;
            next_keys[i] = key_vector(k_base, first + KEYS + n / (KEY_BLOCKS * 4u), inside(n % (KEY_BLOCKS * 4u), params.head_dim));
        }
        for (var i = 0u; i < VALUE_LOADS; i++) {
            let n = lid + i * WG;
            next_values[i] = value_vector(v_base, first + n / (VALUE_BLOCKS * 8u), inside(n % (VALUE_BLOCKS * 8u), params.value_dim));
        }
        // Of products of the higher f16, and 2^11 times those of a lower one.
        var s0 = coop_mat16x16<f32, C>();
        var s0_low = coop_mat16x16<f32, C>();
        let k0 = keys_at(0u, 0u, key0);
        let k0_low = keys_at(LOWER_KEYS, 0u, key0);
        s0 = coopMultiplyAdd(q0, k0, s0);
        s0_low = coopMultiplyAdd(q0_low, k0, s0_low);
        s0_low = coopMultiplyAdd(q0, k0_low, s0_low);
        if KEY_BLOCKS > 1u {
            let k1 = keys_at(0u, 1u, key0);
            let k1_low = keys_at(LOWER_KEYS, 1u, key0);
            s0 = coopMultiplyAdd(q1, k1, s0);
            s0_low = coopMultiplyAdd(q1_low, k1, s0_low);
            s0_low = coopMultiplyAdd(q1, k1_low, s0_low);
        }
        if KEY_BLOCKS > 2u {
            let k2 = keys_at(0u, 2u, key0);
            let k2_low = keys_at(LOWER_KEYS, 2u, key0);
            s0 = coopMultiplyAdd(q2, k2, s0);
            s0_low = coopMultiplyAdd(q2_low, k2, s0_low);
            s0_low = coopMultiplyAdd(q2, k2_low, s0_low);
        }
        if KEY_BLOCKS > 3u {
            let k3 = keys_at(0u, 3u, key0);
            let k3_low = keys_at(LOWER_KEYS, 3u, key0);
            s0 = coopMultiplyAdd(q3, k3, s0);
            s0_low = coopMultiplyAdd(q3_low, k3, s0_low);
            s0_low = coopMultiplyAdd(q3, k3_low, s0_low);
        }
        if KEY_BLOCKS > 4u {
            let k4 = keys_at(0u, 4u, key0);
            let k4_low = keys_at(LOWER_KEYS, 4u, key0);
            s0 = coopMultiplyAdd(q4, k4, s0);
            s0_low = coopMultiplyAdd(q4_low, k4, s0_low);
            s0_low = coopMultiplyAdd(q4, k4_low, s0_low);
        }
        if KEY_BLOCKS > 5u {
            let k5 = keys_at(0u, 5u, key0);
            let k5_low = keys_at(LOWER_KEYS, 5u, key0);
            s0 = coopMultiplyAdd(q5, k5, s0);
            s0_low = coopMultiplyAdd(q5_low, k5, s0_low);
            s0_low = coopMultiplyAdd(q5, k5_low, s0_low);
        }
        if KEY_BLOCKS > 6u {
            let k6 = keys_at(0u, 6u, key0);
            let k6_low = keys_at(LOWER_KEYS, 6u, key0);
            s0 = coopMultiplyAdd(q6, k6, s0);
            s0_low = coopMultiplyAdd(q6_low, k6, s0_low);
            s0_low = coopMultiplyAdd(q6, k6_low, s0_low);
        }
        if KEY_BLOCKS > 7u {
            let k7 = keys_at(0u, 7u, key0);
            let k7_low = keys_at(LOWER_KEYS, 7u, key0);
            s0 = coopMultiplyAdd(q7, k7, s0);
            s0_low = coopMultiplyAdd(q7_low, k7, s0_low);
            s0_low = coopMultiplyAdd(q7, k7_low, s0_low);
        }
        let scores = s0 + s0_low * LOW;
        coopStoreT(scores, &tile_scores[to], SCORE_PITCH);
        workgroupBarrier();

        // Nobody needs these keys any more, nor the values before these.
        if !SHARED {
            put_keys(&next_keys, lid, factors.key);
        }
        for (var i = 0u; i < VALUE_LOADS; i++) {
            let n = lid + i * WG;
            let at_v = VALUES_FROM + n / (VALUE_BLOCKS * 8u) * VALUE_PITCH + n % (VALUE_BLOCKS * 8u);
            put(next_values[i], factors.value, at_v, LOWER_VALUES);
        }
        var s: array<vec4<f32>, 2>;
        for (var i = 0u; i < VECTORS; i++) {
            s[i] = tile_scores[own_scores + i] * factors.scores;
        }
        if CAPPED || MASKED {
            for (var i = 0u; i < VECTORS; i++) {
                s[i] = seen_scores(s[i], at, first + (side * VECTORS + i) * 4u, share.count);
            }
        } else if first < share.all.x || first + KEYS > share.all.y {
            for (var i = 0u; i < VECTORS; i++) {
                let key = vec4<u32>(first + (side * VECTORS + i) * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
                let is_seen = (key >= vec4<u32>(seen_keys.x)) & (key < vec4<u32>(seen_keys.y));
                s[i] = select(vec4<f32>(-inf_f32()), s[i], is_seen);
            }
        }
        let four = max(s[0], s[1]);
        var greatest = max(max(four.x, four.y), max(four.z, four.w));
        greatest = max(greatest, subgroupShuffleXor(greatest, 1u));
        greatest = max(greatest, subgroupShuffleXor(greatest, 2u));
        top = max(top, greatest);
        var faded = 1.0;
        var grown = false;
        if !seen {
            if bitcast<u32>(top) != HIDDEN {
                seen = true;
                base = top;
            }
        } else if (top - base) * LOG2_E > MOST - FIRST {
            faded = exp2((base - top) * LOG2_E);
            base = top;
            total *= faded;
            grown = true;
        }
        let some_grown = subgroupAny(grown);
        if lid % 32u == 0u {
            tile_grown[lid / 32u] = select(0u, 1u, some_grown);
        }
        for (var i = 0u; i < VECTORS; i++) {
            let weights = exp2((s[i] - base) * LOG2_E + FIRST);
            let high = higher(weights);
            tile_weights[own_weights + i] = high;
            tile_weights[LOWER_WEIGHTS + own_weights + i] = lower(weights, high);
            total += (weights.x + weights.y) + (weights.z + weights.w);
        }
        // Also the barrier behind which the weights are seen.
        let all_grown = workgroupUniformLoad(&tile_grown);
        let any_grown = (all_grown[0] | all_grown[1] | all_grown[2] | all_grown[3]) | (all_grown[4] | all_grown[5] | all_grown[6] | all_grown[7]);
        if any_grown != 0u {
            coopStoreT(o0, &tile_scores[to], SCORE_PITCH);
            workgroupBarrier();
            scale_sums(own_scores, faded);
            workgroupBarrier();
            o0 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to], SCORE_PITCH);
            workgroupBarrier();
            if VALUE_BLOCKS > 1u {
                coopStoreT(o1, &tile_scores[to], SCORE_PITCH);
                workgroupBarrier();
                scale_sums(own_scores, faded);
                workgroupBarrier();
                o1 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to], SCORE_PITCH);
                workgroupBarrier();
            }
            if VALUE_BLOCKS > 2u {
                coopStoreT(o2, &tile_scores[to], SCORE_PITCH);
                workgroupBarrier();
                scale_sums(own_scores, faded);
                workgroupBarrier();
                o2 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to], SCORE_PITCH);
                workgroupBarrier();
            }
            if VALUE_BLOCKS > 3u {
                coopStoreT(o3, &tile_scores[to], SCORE_PITCH);
                workgroupBarrier();
                scale_sums(own_scores, faded);
                workgroupBarrier();
                o3 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to], SCORE_PITCH);
                workgroupBarrier();
            }
        }
        let w0 = weights_at(0u, rows, 0u);
        let w0_low = weights_at(LOWER_WEIGHTS, rows, 0u);
        let w1 = weights_at(0u, rows, 16u);
        let w1_low = weights_at(LOWER_WEIGHTS, rows, 16u);
        // The unit cuts off what it adds: of each tile sums begin at 0, and are rounded when they are added.
        o0 = o0 + values_of_block(block0 + 0u, w0, w0_low, w1, w1_low);
        if VALUE_BLOCKS > 1u {
            o1 = o1 + values_of_block(block0 + 1u, w0, w0_low, w1, w1_low);
        }
        if VALUE_BLOCKS > 2u {
            o2 = o2 + values_of_block(block0 + 2u, w0, w0_low, w1, w1_low);
        }
        if VALUE_BLOCKS > 3u {
            o3 = o3 + values_of_block(block0 + 3u, w0, w0_low, w1, w1_low);
        }
        if SHARED {
            workgroupBarrier();
            put_keys(&next_keys, lid, factors.key);
            workgroupBarrier();
        }
    }

    total += subgroupShuffleXor(total, 1u);
    total += subgroupShuffleXor(total, 2u);
    let relative = select(-inf_f32(), base - FIRST * LN_2, seen);
    let live = share.inside && pair < share.rows && !factors.is_flagged;
    var odd = is_odd(vec4<f32>(total));
    // Its vectors of columns: VECTORS of each block of one of the subgroups.
    let own_columns = side * VECTORS / 4u * VALUE_BLOCKS * 4u + side * VECTORS % 4u;
    workgroupBarrier();
    coopStoreT(o0, &tile_scores[to], SCORE_PITCH);
    workgroupBarrier();
    if live {
        odd = finish_block(share, pair, own_columns + 0u, own_scores, factors.sums, relative, total) || odd;
    }
    if VALUE_BLOCKS > 1u {
        workgroupBarrier();
        coopStoreT(o1, &tile_scores[to], SCORE_PITCH);
        workgroupBarrier();
        if live {
            odd = finish_block(share, pair, own_columns + 4u, own_scores, factors.sums, relative, total) || odd;
        }
    }
    if VALUE_BLOCKS > 2u {
        workgroupBarrier();
        coopStoreT(o2, &tile_scores[to], SCORE_PITCH);
        workgroupBarrier();
        if live {
            odd = finish_block(share, pair, own_columns + 8u, own_scores, factors.sums, relative, total) || odd;
        }
    }
    if VALUE_BLOCKS > 3u {
        workgroupBarrier();
        coopStoreT(o3, &tile_scores[to], SCORE_PITCH);
        workgroupBarrier();
        if live {
            odd = finish_block(share, pair, own_columns + 12u, own_scores, factors.sums, relative, total) || odd;
        }
    }
    if said_in_row(live && odd) {
        careful_row(share, factors, at, pair, own_columns, VECTORS, (params.value_dim + 31u) / 32u * VECTORS);
    }
}
