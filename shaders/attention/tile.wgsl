// Computes: out = softmax(scale * q k^T, capped, plus bias, over the keys that may be seen) v, without storing the scores: tiles of
//           KEYS keys are passed over once, with a running maximum and sum per row, in f32. Rows are (head of a group, query) pairs,
//           so that the query heads that share a key head share its tiles; tiles that no row sees are skipped. An invocation has
//           4 rows, of which it makes 4 scores and 4 * STEPS columns. A key of weight 0 does not touch the result.
// Bindings: params, those of the query and operand, result or state, mask, length and factors parts.
// Grid: batches * kv_heads * row_tiles * splits * column_tiles workgroups, folded; a workgroup makes ROWS rows of KEYS * STEPS columns.
// Requires: takes (head part), fetch_q (query part), fetch_k, fetch_v (operand part), begin_factors (factors part), seen_scores, keys_of,
//           shift_of (length part), finish (state part), weights_of.
// Accuracy: 8 ε · (4 · dim · scale + 8) for values up to 2, then one rounding to the dtype.
// Source: Milakov and Gimelshein (2018), "Online normalizer calculation for softmax"; Dao et al. (2022), "FlashAttention".

override WG: u32 = 128u;
override ROWS: u32 = 64u;
override KEYS: u32 = 32u;
// Vectors of columns per invocation: 1, 2 or 4.
override STEPS: u32 = 4u;
// Values in workgroup memory at a time, at most KEYS.
override VALUES: u32 = 8u;
// Vectors of workgroup memory.
override LEN: u32 = 864u;

// Invocations along keys and columns, and along rows.
override ACROSS: u32 = KEYS / 4u;
override DOWN: u32 = ROWS / 4u;
// Of q and k, 32 elements are in workgroup memory at a time; rows are padded by a vector against bank conflicts.
const PITCH: u32 = 9u;
override K_FROM: u32 = ROWS * PITCH;
// Then the weights, and behind them values, or a vector of each invocation.
override WEIGHT_PITCH: u32 = ACROSS + 1u;
override V_FROM: u32 = ROWS * WEIGHT_PITCH;
override V_PITCH: u32 = ACROSS * STEPS;

var<workgroup> tile_all: array<vec4<f32>, LEN>;
// Whether a value was NaN or infinite: 0 times it is not 0 then.
var<workgroup> tile_odd: atomic<u32>;

// Sums of an invocation: a Rows per step.
struct Sums {
    a: Rows,
    b: Rows,
    c: Rows,
    d: Rows,
}

// Adds a value's vectors from `at` on, times the weights of the rows.
fn add_value(sums: ptr<function, Sums>, x: vec4<f32>, at: u32) {
    (*sums).a = plus((*sums).a, x, tile_all[at]);
    if STEPS > 1u {
        (*sums).b = plus((*sums).b, x, tile_all[at + ACROSS]);
    }
    if STEPS > 2u {
        (*sums).c = plus((*sums).c, x, tile_all[at + 2u * ACROSS]);
        (*sums).d = plus((*sums).d, x, tile_all[at + 3u * ACROSS]);
    }
}

fn add_odd_value(sums: ptr<function, Sums>, x: vec4<f32>, at: u32) {
    (*sums).a = plus_odd((*sums).a, x, tile_all[at]);
    if STEPS > 1u {
        (*sums).b = plus_odd((*sums).b, x, tile_all[at + ACROSS]);
    }
    if STEPS > 2u {
        (*sums).c = plus_odd((*sums).c, x, tile_all[at + 2u * ACROSS]);
        (*sums).d = plus_odd((*sums).d, x, tile_all[at + 3u * ACROSS]);
    }
}

fn fade(sums: ptr<function, Sums>, x: vec4<f32>, odd: bool) {
    if odd {
        *sums = Sums(times_odd((*sums).a, x), times_odd((*sums).b, x), times_odd((*sums).c, x), times_odd((*sums).d, x));
    } else {
        *sums = Sums(times((*sums).a, x), times((*sums).b, x), times((*sums).c, x), times((*sums).d, x));
    }
}

fn sum_of(x: vec4<f32>) -> f32 {
    return (x.x + x.y) + (x.z + x.w);
}

// Where a key lies in workgroup memory: invocations have four neighbours, which lie apart, so that those of neighbouring
// invocations lie side by side.
fn place_of(key: u32) -> u32 {
    return key % 4u * ACROSS + key / 4u;
}

// Leaves four columns of the rows that exist.
fn finish_rows(share: Share, pairs: vec4<u32>, column: u32, sums: Rows, top: vec4<f32>, total: vec4<f32>) {
    if pairs.x < share.rows {
        finish(share, pairs.x, column, sums.a, top.x, total.x);
    }
    if pairs.y < share.rows {
        finish(share, pairs.y, column, sums.b, top.y, total.y);
    }
    if pairs.z < share.rows {
        finish(share, pairs.z, column, sums.c, top.z, total.z);
    }
    if pairs.w < share.rows {
        finish(share, pairs.w, column, sums.d, top.w, total.w);
    }
}

// The vector `i` of the next values that this invocation moves, if there are so many.
fn value_at(i: u32, v_base: u32, first: u32, column: u32) -> vec4<f32> {
    return fetch_v(v_base, first + i / V_PITCH, column + i % V_PITCH * 4u);
}

fn put_value(i: u32, v: vec4<f32>) {
    tile_all[V_FROM + i] = v;
    let magnitude = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
    if max(max(magnitude.x, magnitude.y), max(magnitude.z, magnitude.w)) >= 0x7f800000u {
        atomicStore(&tile_odd, 1u);
    }
}

fn attend(share: Share, lid: u32) {
    let batch = share.batch;
    let k_base = params.k_offset + batch * params.k_strides.x + share.kv_head * params.k_strides.y;
    let v_base = params.v_offset + batch * params.v_strides.x + share.kv_head * params.v_strides.y;

    // This invocation's rows: this one and the next three at distances of DOWN; beyond the last row it is once more.
    let tx = lid % ACROSS;
    let ty = lid / ACROSS;
    let pairs = vec4<u32>(share.row0 + ty) + vec4<u32>(0u, 1u, 2u, 3u) * DOWN;
    let row = min(pairs, vec4<u32>(share.rows - 1u));
    let head = share.head0 + row / params.queries;
    let query = row % params.queries;
    let position = vec4<i32>(query) + share.shift;

    // What it moves: 4 elements of at most 4 queries and keys.
    let reach = WG / 8u;
    let part = lid % 8u;
    let mine = lid / 8u;
    let q_row = min(vec4<u32>(share.row0 + mine) + vec4<u32>(0u, 1u, 2u, 3u) * reach, vec4<u32>(share.rows - 1u));
    let q_from = params.q_offset + batch * params.q_strides.x + (share.head0 + q_row / params.queries) * params.q_strides.y
        + q_row % params.queries * params.q_strides.z;

    var sums = Sums();
    var top = vec4<f32>(-inf_f32());
    var total = vec4<f32>();
    if lid == 0u {
        atomicStore(&tile_odd, 0u);
    }
    for (var first = share.keys.x; first < share.keys.y; first += KEYS) {
        var s = Rows();
        for (var depth = 0u; depth < params.head_dim; depth += 32u) {
            let d = depth + part * 4u;
            let q0 = fetch_q(q_from.x, d);
            let q1 = fetch_q(q_from.y, d);
            var q2 = vec4<f32>();
            var q3 = vec4<f32>();
            if KEYS < 64u {
                q2 = fetch_q(q_from.z, d);
                q3 = fetch_q(q_from.w, d);
            }
            let k0 = fetch_k(k_base, first + mine, d);
            var k1 = vec4<f32>();
            if ROWS < 128u {
                k1 = fetch_k(k_base, first + mine + reach, d);
            }
            var k2 = vec4<f32>();
            var k3 = vec4<f32>();
            if ROWS < 64u {
                k2 = fetch_k(k_base, first + mine + 2u * reach, d);
                k3 = fetch_k(k_base, first + mine + 3u * reach, d);
            }
            workgroupBarrier();
            tile_all[mine * PITCH + part] = q0;
            tile_all[(mine + reach) * PITCH + part] = q1;
            if KEYS < 64u {
                tile_all[(mine + 2u * reach) * PITCH + part] = q2;
                tile_all[(mine + 3u * reach) * PITCH + part] = q3;
            }
            tile_all[K_FROM + place_of(mine) * PITCH + part] = k0;
            if ROWS < 128u {
                tile_all[K_FROM + place_of(mine + reach) * PITCH + part] = k1;
            }
            if ROWS < 64u {
                tile_all[K_FROM + place_of(mine + 2u * reach) * PITCH + part] = k2;
                tile_all[K_FROM + place_of(mine + 3u * reach) * PITCH + part] = k3;
            }
            workgroupBarrier();
            for (var t = 0u; t < 8u; t++) {
                let at_q = ty * PITCH + t;
                let at_k = K_FROM + tx * PITCH + t;
                let qa = tile_all[at_q];
                let qb = tile_all[at_q + DOWN * PITCH];
                let qc = tile_all[at_q + 2u * DOWN * PITCH];
                let qd = tile_all[at_q + 3u * DOWN * PITCH];
                let ka = tile_all[at_k];
                let kb = tile_all[at_k + ACROSS * PITCH];
                let kc = tile_all[at_k + 2u * ACROSS * PITCH];
                let kd = tile_all[at_k + 3u * ACROSS * PITCH];
                s = plus(s, vec4<f32>(qa.x, qb.x, qc.x, qd.x), vec4<f32>(ka.x, kb.x, kc.x, kd.x));
                s = plus(s, vec4<f32>(qa.y, qb.y, qc.y, qd.y), vec4<f32>(ka.y, kb.y, kc.y, kd.y));
                s = plus(s, vec4<f32>(qa.z, qb.z, qc.z, qd.z), vec4<f32>(ka.z, kb.z, kc.z, kd.z));
                s = plus(s, vec4<f32>(qa.w, qb.w, qc.w, qd.w), vec4<f32>(ka.w, kb.w, kc.w, kd.w));
            }
        }

        // Where some row does not see some key, or scores are bent.
        if CAPPED || MASKED || first < share.all.x || first + KEYS > share.all.y {
            let key = first + 4u * tx;
            s.a = seen_scores(s.a, Query(batch, head.x, query.x, position.x), key, share.count);
            s.b = seen_scores(s.b, Query(batch, head.y, query.y, position.y), key, share.count);
            s.c = seen_scores(s.c, Query(batch, head.z, query.z, position.z), key, share.count);
            s.d = seen_scores(s.d, Query(batch, head.w, query.w, position.w), key, share.count);
        }

        // The greatest score of each row: of this invocation's keys, then of all.
        workgroupBarrier();
        tile_all[V_FROM + tx * DOWN + ty] = vec4<f32>(greatest_of(s.a), greatest_of(s.b), greatest_of(s.c), greatest_of(s.d));
        workgroupBarrier();
        var greatest = top;
        for (var x = 0u; x < ACROSS; x++) {
            greatest = max(greatest, tile_all[V_FROM + x * DOWN + ty]);
        }
        let faded = weights_of(top, greatest);
        top = greatest;
        let weights = Rows(
            weights_of(s.a, top.xxxx),
            weights_of(s.b, top.yyyy),
            weights_of(s.c, top.zzzz),
            weights_of(s.d, top.wwww),
        );
        total = total * faded + vec4<f32>(sum_of(weights.a), sum_of(weights.b), sum_of(weights.c), sum_of(weights.d));
        fade(&sums, faded, atomicLoad(&tile_odd) != 0u);
        let at = ty * WEIGHT_PITCH + tx;
        tile_all[at] = weights.a;
        tile_all[at + DOWN * WEIGHT_PITCH] = weights.b;
        tile_all[at + 2u * DOWN * WEIGHT_PITCH] = weights.c;
        tile_all[at + 3u * DOWN * WEIGHT_PITCH] = weights.d;

        let column = share.column_tile * V_PITCH * 4u;
        for (var from_key = 0u; from_key < KEYS && first + from_key < share.keys.y; from_key += VALUES) {
            let count = VALUES * V_PITCH;
            let v0 = value_at(lid, v_base, first + from_key, column);
            var v1 = vec4<f32>();
            var v2 = vec4<f32>();
            var v3 = vec4<f32>();
            if count > WG {
                v1 = value_at(lid + WG, v_base, first + from_key, column);
            }
            if count > 2u * WG {
                v2 = value_at(lid + 2u * WG, v_base, first + from_key, column);
                v3 = value_at(lid + 3u * WG, v_base, first + from_key, column);
            }
            workgroupBarrier();
            if lid < count {
                put_value(lid, v0);
            }
            if count > WG {
                put_value(lid + WG, v1);
            }
            if count > 2u * WG {
                put_value(lid + 2u * WG, v2);
                put_value(lid + 3u * WG, v3);
            }
            workgroupBarrier();
            let odd = atomicLoad(&tile_odd) != 0u;
            for (var four = 0u; four < VALUES / 4u; four++) {
                let at_w = ty * WEIGHT_PITCH + from_key / 4u + four;
                let wa = tile_all[at_w];
                let wb = tile_all[at_w + DOWN * WEIGHT_PITCH];
                let wc = tile_all[at_w + 2u * DOWN * WEIGHT_PITCH];
                let wd = tile_all[at_w + 3u * DOWN * WEIGHT_PITCH];
                let at_v = V_FROM + four * 4u * V_PITCH + tx;
                let x = vec4<f32>(wa.x, wb.x, wc.x, wd.x);
                let y = vec4<f32>(wa.y, wb.y, wc.y, wd.y);
                let z = vec4<f32>(wa.z, wb.z, wc.z, wd.z);
                let w = vec4<f32>(wa.w, wb.w, wc.w, wd.w);
                if odd {
                    add_odd_value(&sums, x, at_v);
                    add_odd_value(&sums, y, at_v + V_PITCH);
                    add_odd_value(&sums, z, at_v + 2u * V_PITCH);
                    add_odd_value(&sums, w, at_v + 3u * V_PITCH);
                } else {
                    add_value(&sums, x, at_v);
                    add_value(&sums, y, at_v + V_PITCH);
                    add_value(&sums, z, at_v + 2u * V_PITCH);
                    add_value(&sums, w, at_v + 3u * V_PITCH);
                }
            }
        }
    }

    workgroupBarrier();
    tile_all[V_FROM + tx * DOWN + ty] = total;
    workgroupBarrier();
    total = vec4<f32>();
    for (var x = 0u; x < ACROSS; x++) {
        total += tile_all[V_FROM + x * DOWN + ty];
    }
    if share.inside {
        let column = (share.column_tile * V_PITCH + tx) * 4u;
        finish_rows(share, pairs, column, sums.a, top, total);
        if STEPS > 1u {
            finish_rows(share, pairs, column + 4u * ACROSS, sums.b, top, total);
        }
        if STEPS > 2u {
            finish_rows(share, pairs, column + 8u * ACROSS, sums.c, top, total);
            finish_rows(share, pairs, column + 12u * ACROSS, sums.d, top, total);
        }
    }
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let share = share_of(group.x + (group.y + group.z * groups.y) * groups.x, ROWS, KEYS);
    begin_factors(share);
    if takes(share) {
        attend(share, lid);
    }
}
