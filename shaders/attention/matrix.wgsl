// Computes: the same as tile.wgsl for f16, and for heads of bf16 that f16 holds, on matrix units. Two subgroups share rows, whose queries both hold as matrices: each
//           makes the scores of half of a tile's keys, then the sums of half of the columns. Scores go through workgroup memory,
//           where two or four invocations have a row; its weights are relative to an older greatest score until they grow too large, then
//           sums go through workgroup memory too and are scaled there. Rows in which something is NaN or infinite are computed
//           once more in f32. A weight is rounded to f16, and so it counts in the sum of weights.
// Bindings: params, those of the operand, result or state, mask, length, factors and exponent parts.
// Grid: batches * kv_heads * row_tiles * splits workgroups of subgroups of 32, folded; a workgroup makes ROWS rows.
// Requires: 16 x 16 x 16 matrices f16 -> f32; factors_of, query_vector, key_vector, value_vector (operand part),
//           begin_factors (factors part), seen_scores, finish (state part), careful_row, blocks.wgsl.
// Accuracy: 8 ε · (4 · dim · scale + 8) and 2^-10 for values up to 2, then one rounding to the dtype; a weight below 2^-32 of the greatest is 0.
// Source: Dao (2023), "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning".

override WG: u32 = 128u;
// Blocks of 16 elements of a key, at most 8; blocks of 16 columns of a subgroup, at most 4. A head may end within them: behind its
// end queries are 0, keys and values are its last vector, and columns are not stored.
override KEY_BLOCKS: u32 = 8u;
override VALUE_BLOCKS: u32 = 4u;
// Vectors of workgroup memory: of queries; then of keys and values, or of one of both at a time.
override LEN: u32 = 1088u;
// Whether keys and values take turns there: two workgroups of a processor may then have room where otherwise one has.
override SHARED: bool = true;

// Blocks of 16 rows of a subgroup: 1 or 2.
override ROW_BLOCKS: u32 = 2u;

override ROWS: u32 = WG / 4u * ROW_BLOCKS;
// Rows of queries that the memory of as many keys holds.
override STAGED_ROWS: u32 = min(ROWS, KEYS);
const MOST_LOADS: u32 = 16u;
// What the loop over tiles counts by: one, and NVIDIA's compiler unrolls it, which takes 5 % less time for heads of 64 elements; or
// keys, and it does not, which takes 6 % less for heads of 128.
override STEP: u32 = select(KEYS, 1u, KEY_BLOCKS < 6u);
override STEP_KEYS: u32 = KEYS / STEP;

// Rows of vectors, with one or two more against bank conflicts.
override KEY_PITCH: u32 = KEY_BLOCKS * 4u + 2u;
override VALUE_PITCH: u32 = VALUE_BLOCKS * 8u + 2u;
override VALUES_FROM: u32 = select(KEYS * KEY_PITCH, 0u, SHARED);
// Invocations of a row, and vectors of its scores that each has: 2 and 4, or 4 and 2.
override LANES: u32 = 4u / ROW_BLOCKS;
override VECTORS: u32 = KEYS / 4u / LANES;

// Vectors of a tile that an invocation moves.
override KEY_LOADS: u32 = KEYS * 4u * KEY_BLOCKS / WG;
override VALUE_LOADS: u32 = KEYS * 8u * VALUE_BLOCKS / WG;

var<workgroup> tile_all: array<vec4<f16>, LEN>;
// Scores, also sums on their way from and to matrices.
var<workgroup> tile_scores: array<vec4<f32>, ROWS * SCORE_PITCH>;
var<workgroup> tile_weights: array<vec4<f16>, ROWS * WEIGHT_PITCH>;
// Whether sums of a subgroup's rows have to be scaled, of at most four: cooperative loads need the arrays before and behind at
// multiples of 16 bytes.
var<workgroup> tile_grown: array<u32, 4>;

// The matrix of 16 queries and 16 elements.
fn queries_at(row: u32, block: u32) -> coop_mat16x16<f16, A> {
    let at = row * KEY_PITCH + block * 4u;
    return coopLoadT<coop_mat16x16<f16, A>>(&tile_all[at], KEY_PITCH);
}

// The matrix of 16 elements and 16 keys.
fn keys_at(block: u32, key: u32) -> coop_mat16x16<f16, B> {
    let at = key * KEY_PITCH + block * 4u;
    return coopLoad<coop_mat16x16<f16, B>>(&tile_all[at], KEY_PITCH);
}

// The matrix of 16 keys and 16 columns.
fn values_at(key: u32, block: u32) -> coop_mat16x16<f16, B> {
    let at = VALUES_FROM + key * VALUE_PITCH + block * 4u;
    return coopLoadT<coop_mat16x16<f16, B>>(&tile_all[at], VALUE_PITCH);
}

// The matrix of the weights of 16 rows and 16 keys.
fn weights_at(row: u32, key: u32) -> coop_mat16x16<f16, A> {
    let at = row * WEIGHT_PITCH + key / 4u;
    return coopLoadT<coop_mat16x16<f16, A>>(&tile_weights[at], WEIGHT_PITCH);
}

// Puts the keys of a tile into workgroup memory, of which an invocation has these.
fn put_keys(keys: ptr<function, array<Four, MOST_LOADS>>, lid: u32, factor: f32) {
    for (var i = 0u; i < KEY_LOADS; i++) {
        let n = lid + i * WG;
        tile_all[n / (KEY_BLOCKS * 4u) * KEY_PITCH + n % (KEY_BLOCKS * 4u)] = as_halves((*keys)[i], factor);
    }
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
    begin_factors(share);
    let factors = factors_of(share);
    // Matrices want control flow that does not depend on memory: a head that is left out has no keys.
    let end = select(share.keys.y, share.keys.x, factors.is_flagged);
    let k_base = key_base(share);
    let v_base = value_base(share);

    // The rows of this subgroup's matrices, and its half of keys and columns.
    let rows = lid / 64u * ROW_BLOCKS * 16u;
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

    if lid < 4u {
        tile_grown[lid] = 0u;
    }
    var q00 = coop_mat16x16<f16, A>();
    var q01 = coop_mat16x16<f16, A>();
    var q02 = coop_mat16x16<f16, A>();
    var q03 = coop_mat16x16<f16, A>();
    var q04 = coop_mat16x16<f16, A>();
    var q05 = coop_mat16x16<f16, A>();
    var q06 = coop_mat16x16<f16, A>();
    var q07 = coop_mat16x16<f16, A>();
    var q10 = coop_mat16x16<f16, A>();
    var q11 = coop_mat16x16<f16, A>();
    var q12 = coop_mat16x16<f16, A>();
    var q13 = coop_mat16x16<f16, A>();
    var q14 = coop_mat16x16<f16, A>();
    var q15 = coop_mat16x16<f16, A>();
    var q16 = coop_mat16x16<f16, A>();
    var q17 = coop_mat16x16<f16, A>();
    // Queries go through the memory of keys and values, as many at a time as it has room for.
    for (var from_row = 0u; from_row < ROWS; from_row += STAGED_ROWS) {
        workgroupBarrier();
        for (var n = lid; n < STAGED_ROWS * KEY_BLOCKS * 4u; n += WG) {
            let line = n / (KEY_BLOCKS * 4u);
            let vector = n % (KEY_BLOCKS * 4u);
            let four = query_vector(query_base(share, share.row0 + from_row + line), inside(vector, params.head_dim));
            let halves = as_halves(four, factors.query);
            tile_all[line * KEY_PITCH + vector] = select(vec4<f16>(), halves, vector * 4u < params.head_dim);
        }
        workgroupBarrier();
        // Matrices are loaded by all subgroups, and kept by those whose rows these are.
        let own = rows / STAGED_ROWS * STAGED_ROWS == from_row;
        let line = rows % STAGED_ROWS;
        let n00 = queries_at(line, 0u);
        if own {
            q00 = n00;
        }
        if ROW_BLOCKS > 1u {
            let n10 = queries_at(line + 16u, 0u);
            if own {
                q10 = n10;
            }
        }
        if KEY_BLOCKS > 1u {
            let n01 = queries_at(line, 1u);
            if own {
                q01 = n01;
            }
            if ROW_BLOCKS > 1u {
                let n11 = queries_at(line + 16u, 1u);
                if own {
                    q11 = n11;
                }
            }
        }
        if KEY_BLOCKS > 2u {
            let n02 = queries_at(line, 2u);
            if own {
                q02 = n02;
            }
            if ROW_BLOCKS > 1u {
                let n12 = queries_at(line + 16u, 2u);
                if own {
                    q12 = n12;
                }
            }
        }
        if KEY_BLOCKS > 3u {
            let n03 = queries_at(line, 3u);
            if own {
                q03 = n03;
            }
            if ROW_BLOCKS > 1u {
                let n13 = queries_at(line + 16u, 3u);
                if own {
                    q13 = n13;
                }
            }
        }
        if KEY_BLOCKS > 4u {
            let n04 = queries_at(line, 4u);
            if own {
                q04 = n04;
            }
            if ROW_BLOCKS > 1u {
                let n14 = queries_at(line + 16u, 4u);
                if own {
                    q14 = n14;
                }
            }
        }
        if KEY_BLOCKS > 5u {
            let n05 = queries_at(line, 5u);
            if own {
                q05 = n05;
            }
            if ROW_BLOCKS > 1u {
                let n15 = queries_at(line + 16u, 5u);
                if own {
                    q15 = n15;
                }
            }
        }
        if KEY_BLOCKS > 6u {
            let n06 = queries_at(line, 6u);
            if own {
                q06 = n06;
            }
            if ROW_BLOCKS > 1u {
                let n16 = queries_at(line + 16u, 6u);
                if own {
                    q16 = n16;
                }
            }
        }
        if KEY_BLOCKS > 7u {
            let n07 = queries_at(line, 7u);
            if own {
                q07 = n07;
            }
            if ROW_BLOCKS > 1u {
                let n17 = queries_at(line + 16u, 7u);
                if own {
                    q17 = n17;
                }
            }
        }
    }
    var o00 = coop_mat16x16<f32, C>();
    var o01 = coop_mat16x16<f32, C>();
    var o02 = coop_mat16x16<f32, C>();
    var o03 = coop_mat16x16<f32, C>();
    var o10 = coop_mat16x16<f32, C>();
    var o11 = coop_mat16x16<f32, C>();
    var o12 = coop_mat16x16<f32, C>();
    var o13 = coop_mat16x16<f32, C>();

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
    // What weights are relative to, as a power of two.
    var used = 0.0;
    var total = 0.0;
    let steps = (max(end, share.keys.x) - share.keys.x + STEP_KEYS - 1u) / STEP_KEYS;
    for (var step = 0u; step < steps; step += STEP) {
        let first = share.keys.x + step * STEP_KEYS;
        // The values of this tile, and the keys of the next one, are under way meanwhile.
        for (var i = 0u; i < KEY_LOADS; i++) {
            let n = lid + i * WG;
            next_keys[i] = key_vector(k_base, first + KEYS + n / (KEY_BLOCKS * 4u), inside(n % (KEY_BLOCKS * 4u), params.head_dim));
        }
        for (var i = 0u; i < VALUE_LOADS; i++) {
            let n = lid + i * WG;
            next_values[i] = value_vector(v_base, first + n / (VALUE_BLOCKS * 8u), inside(n % (VALUE_BLOCKS * 8u), params.value_dim));
        }
        var s0 = coop_mat16x16<f32, C>();
        var s1 = coop_mat16x16<f32, C>();
        let key0 = half * 16u;
        let k0 = keys_at(0u, key0);
        s0 = coopMultiplyAdd(q00, k0, s0);
        if ROW_BLOCKS > 1u {
            s1 = coopMultiplyAdd(q10, k0, s1);
        }
        if KEY_BLOCKS > 1u {
            let k1 = keys_at(1u, key0);
            s0 = coopMultiplyAdd(q01, k1, s0);
            if ROW_BLOCKS > 1u {
                s1 = coopMultiplyAdd(q11, k1, s1);
            }
        }
        if KEY_BLOCKS > 2u {
            let k2 = keys_at(2u, key0);
            s0 = coopMultiplyAdd(q02, k2, s0);
            if ROW_BLOCKS > 1u {
                s1 = coopMultiplyAdd(q12, k2, s1);
            }
        }
        if KEY_BLOCKS > 3u {
            let k3 = keys_at(3u, key0);
            s0 = coopMultiplyAdd(q03, k3, s0);
            if ROW_BLOCKS > 1u {
                s1 = coopMultiplyAdd(q13, k3, s1);
            }
        }
        if KEY_BLOCKS > 4u {
            let k4 = keys_at(4u, key0);
            s0 = coopMultiplyAdd(q04, k4, s0);
            if ROW_BLOCKS > 1u {
                s1 = coopMultiplyAdd(q14, k4, s1);
            }
        }
        if KEY_BLOCKS > 5u {
            let k5 = keys_at(5u, key0);
            s0 = coopMultiplyAdd(q05, k5, s0);
            if ROW_BLOCKS > 1u {
                s1 = coopMultiplyAdd(q15, k5, s1);
            }
        }
        if KEY_BLOCKS > 6u {
            let k6 = keys_at(6u, key0);
            s0 = coopMultiplyAdd(q06, k6, s0);
            if ROW_BLOCKS > 1u {
                s1 = coopMultiplyAdd(q16, k6, s1);
            }
        }
        if KEY_BLOCKS > 7u {
            let k7 = keys_at(7u, key0);
            s0 = coopMultiplyAdd(q07, k7, s0);
            if ROW_BLOCKS > 1u {
                s1 = coopMultiplyAdd(q17, k7, s1);
            }
        }
        let to_0 = rows * SCORE_PITCH + half * 4u;
        let to_1 = to_0 + 16u * SCORE_PITCH;
        coopStoreT(s0, &tile_scores[to_0], SCORE_PITCH);
        if ROW_BLOCKS > 1u {
            coopStoreT(s1, &tile_scores[to_1], SCORE_PITCH);
        }
        workgroupBarrier();

        // Nobody needs these keys any more, nor the values before these.
        if !SHARED {
            put_keys(&next_keys, lid, factors.key);
        }
        for (var i = 0u; i < VALUE_LOADS; i++) {
            let n = lid + i * WG;
            tile_all[VALUES_FROM + n / (VALUE_BLOCKS * 8u) * VALUE_PITCH + n % (VALUE_BLOCKS * 8u)] = as_halves(next_values[i], factors.value);
        }
        var s: array<vec4<f32>, 4>;
        for (var i = 0u; i < VECTORS; i++) {
            s[i] = tile_scores[own_scores + i] * factors.scores;
        }
        if CAPPED || MASKED {
            for (var i = 0u; i < VECTORS; i++) {
                s[i] = seen_scores(s[i], at, first + (side * VECTORS + i) * 4u, share.count);
            }
        } else if first < share.all.x || first + KEYS > share.all.y {
            // The same where a key is seen or is not: four at a time, which takes less time to compile as well.
            for (var i = 0u; i < VECTORS; i++) {
                let key = vec4<u32>(first + (side * VECTORS + i) * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
                let is_seen = (key >= vec4<u32>(seen_keys.x)) & (key < vec4<u32>(seen_keys.y));
                s[i] = select(vec4<f32>(-inf_f32()), s[i], is_seen);
            }
        }
        var four = s[0];
        for (var i = 1u; i < VECTORS; i++) {
            four = max(four, s[i]);
        }
        var greatest = max(max(four.x, four.y), max(four.z, four.w));
        greatest = max(greatest, subgroupShuffleXor(greatest, 1u));
        if LANES > 2u {
            greatest = max(greatest, subgroupShuffleXor(greatest, 2u));
        }
        top = max(top, greatest);
        var faded = 1.0;
        var grown = false;
        let above = top * LOG2_E;
        if !seen {
            if bitcast<u32>(top) != HIDDEN {
                seen = true;
                used = above - FIRST;
            }
        } else if above > used + MOST {
            faded = exp2(used - (above - FIRST));
            used = above - FIRST;
            total *= faded;
            grown = true;
        }
        let some_grown = subgroupAny(grown);
        if lid % 32u == 0u {
            tile_grown[lid / 32u] = select(0u, 1u, some_grown);
        }
        for (var i = 0u; i < VECTORS; i++) {
            let weights = vec4<f16>(exp2(s[i] * LOG2_E - used));
            tile_weights[own_weights + i] = weights;
            let counts = vec4<f32>(weights);
            total += (counts.x + counts.y) + (counts.z + counts.w);
        }
        // Also the barrier behind which the weights are seen.
        let all_grown = workgroupUniformLoad(&tile_grown);
        if (all_grown[0] | all_grown[1] | all_grown[2] | all_grown[3]) != 0u {
            coopStoreT(o00, &tile_scores[to_0], SCORE_PITCH);
            if ROW_BLOCKS > 1u {
                coopStoreT(o10, &tile_scores[to_1], SCORE_PITCH);
            }
            workgroupBarrier();
            scale_sums(own_scores, faded);
            workgroupBarrier();
            o00 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to_0], SCORE_PITCH);
            if ROW_BLOCKS > 1u {
                o10 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to_1], SCORE_PITCH);
            }
            workgroupBarrier();
            if VALUE_BLOCKS > 1u {
                coopStoreT(o01, &tile_scores[to_0], SCORE_PITCH);
                if ROW_BLOCKS > 1u {
                    coopStoreT(o11, &tile_scores[to_1], SCORE_PITCH);
                }
                workgroupBarrier();
                scale_sums(own_scores, faded);
                workgroupBarrier();
                o01 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to_0], SCORE_PITCH);
                if ROW_BLOCKS > 1u {
                    o11 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to_1], SCORE_PITCH);
                }
                workgroupBarrier();
            }
            if VALUE_BLOCKS > 2u {
                coopStoreT(o02, &tile_scores[to_0], SCORE_PITCH);
                if ROW_BLOCKS > 1u {
                    coopStoreT(o12, &tile_scores[to_1], SCORE_PITCH);
                }
                workgroupBarrier();
                scale_sums(own_scores, faded);
                workgroupBarrier();
                o02 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to_0], SCORE_PITCH);
                if ROW_BLOCKS > 1u {
                    o12 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to_1], SCORE_PITCH);
                }
                workgroupBarrier();
            }
            if VALUE_BLOCKS > 3u {
                coopStoreT(o03, &tile_scores[to_0], SCORE_PITCH);
                if ROW_BLOCKS > 1u {
                    coopStoreT(o13, &tile_scores[to_1], SCORE_PITCH);
                }
                workgroupBarrier();
                scale_sums(own_scores, faded);
                workgroupBarrier();
                o03 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to_0], SCORE_PITCH);
                if ROW_BLOCKS > 1u {
                    o13 = coopLoadT<coop_mat16x16<f32, C>>(&tile_scores[to_1], SCORE_PITCH);
                }
                workgroupBarrier();
            }
        }
        for (var key = 0u; key < KEYS; key += 16u) {
            let w0 = weights_at(rows, key);
            // Without a second block it is not used.
            let w1 = weights_at(rows + (ROW_BLOCKS - 1u) * 16u, key);
            let block0 = half * VALUE_BLOCKS;
            let v0 = values_at(key, block0 + 0u);
            o00 = coopMultiplyAdd(w0, v0, o00);
            if ROW_BLOCKS > 1u {
                o10 = coopMultiplyAdd(w1, v0, o10);
            }
            if VALUE_BLOCKS > 1u {
                let v1 = values_at(key, block0 + 1u);
                o01 = coopMultiplyAdd(w0, v1, o01);
                if ROW_BLOCKS > 1u {
                    o11 = coopMultiplyAdd(w1, v1, o11);
                }
            }
            if VALUE_BLOCKS > 2u {
                let v2 = values_at(key, block0 + 2u);
                o02 = coopMultiplyAdd(w0, v2, o02);
                if ROW_BLOCKS > 1u {
                    o12 = coopMultiplyAdd(w1, v2, o12);
                }
            }
            if VALUE_BLOCKS > 3u {
                let v3 = values_at(key, block0 + 3u);
                o03 = coopMultiplyAdd(w0, v3, o03);
                if ROW_BLOCKS > 1u {
                    o13 = coopMultiplyAdd(w1, v3, o13);
                }
            }
        }
        if SHARED {
            workgroupBarrier();
            put_keys(&next_keys, lid, factors.key);
            workgroupBarrier();
        }
    }

    total += subgroupShuffleXor(total, 1u);
    if LANES > 2u {
        total += subgroupShuffleXor(total, 2u);
    }
    let relative = select(-inf_f32(), used * LN_2, seen);
    let live = share.inside && pair < share.rows && !factors.is_flagged;
    var odd = is_odd(vec4<f32>(total));
    // Its vectors of columns: VECTORS of each block of one of the subgroups.
    let own_columns = side * VECTORS / 4u * VALUE_BLOCKS * 4u + side * VECTORS % 4u;
    let to_0 = rows * SCORE_PITCH + half * 4u;
    let to_1 = to_0 + 16u * SCORE_PITCH;
    workgroupBarrier();
    coopStoreT(o00, &tile_scores[to_0], SCORE_PITCH);
    if ROW_BLOCKS > 1u {
        coopStoreT(o10, &tile_scores[to_1], SCORE_PITCH);
    }
    workgroupBarrier();
    if live {
        odd = finish_block(share, pair, own_columns + 0u, own_scores, factors.sums, relative, total) || odd;
    }
    if VALUE_BLOCKS > 1u {
        workgroupBarrier();
        coopStoreT(o01, &tile_scores[to_0], SCORE_PITCH);
        if ROW_BLOCKS > 1u {
            coopStoreT(o11, &tile_scores[to_1], SCORE_PITCH);
        }
        workgroupBarrier();
        if live {
            odd = finish_block(share, pair, own_columns + 4u, own_scores, factors.sums, relative, total) || odd;
        }
    }
    if VALUE_BLOCKS > 2u {
        workgroupBarrier();
        coopStoreT(o02, &tile_scores[to_0], SCORE_PITCH);
        if ROW_BLOCKS > 1u {
            coopStoreT(o12, &tile_scores[to_1], SCORE_PITCH);
        }
        workgroupBarrier();
        if live {
            odd = finish_block(share, pair, own_columns + 8u, own_scores, factors.sums, relative, total) || odd;
        }
    }
    if VALUE_BLOCKS > 3u {
        workgroupBarrier();
        coopStoreT(o03, &tile_scores[to_0], SCORE_PITCH);
        if ROW_BLOCKS > 1u {
            coopStoreT(o13, &tile_scores[to_1], SCORE_PITCH);
        }
        workgroupBarrier();
        if live {
            odd = finish_block(share, pair, own_columns + 12u, own_scores, factors.sums, relative, total) || odd;
        }
    }
    if said_in_row(live && odd) {
        careful_row(share, factors, at, pair, own_columns, VECTORS, (params.value_dim + 31u) / 32u * VECTORS);
    }
}
