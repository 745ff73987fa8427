// Computes: the same as tile.wgsl for few rows per key head, such as one query that goes on with many keys: each invocation reads
//           eight neighbouring elements of keys, then of values, which pass through registers alone. What it reads next is under way
//           while it computes.
// Bindings: params, those of the query and operand (octs), result or state, mask, length and factors parts.
// Grid: batches * kv_heads * row_tiles * splits workgroups of 256 invocations, folded; a workgroup makes 4 rows.
// Requires: query_oct (query part), key_oct, value_oct (operand part), key_factor, value_factor, factored (factors part), seen_score, keys_of,
//           shift_of (length part), finish (state part), weights_of, sums.wgsl. Integers times a query have to stay within f32.
// Accuracy: 8 ε · (4 · dim · scale + 8) for values up to 2, then one rounding to the dtype.

override WG: u32 = 256u;
// Invocations that read a key, and pieces of eight elements that each has of it: 1 or 2.
override KEY_LANES: u32 = 8u;
override KEY_OCTS: u32 = 2u;
// Invocations that read a value.
override VALUE_LANES: u32 = 16u;

const ROWS: u32 = 4u;
// Keys whose scores are in workgroup memory at a time, a multiple of 8.
override KEYS: u32 = 64u;

// Vectors of elements of 4 rows of queries: that of element e of piece p is at e * PIECES + p.
override PIECES: u32 = KEY_LANES * KEY_OCTS;
override QUERIES: u32 = 8u * PIECES;
// An invocation reads two keys, and two or four values, of each KEYS.
override KEYS_APART: u32 = KEYS / 2u;
override VALUES_APART: u32 = WG / VALUE_LANES;
override PARTS_PITCH: u32 = KEY_LANES + 1u;
override EIGHTHS: u32 = KEYS / 8u;

// Parts of scores, then parts of sums.
override LEN: u32 = 576u;
var<workgroup> partial_sums: array<vec4<f32>, LEN>;
var<workgroup> tile_queries: array<vec4<f32>, QUERIES>;
// Scores, then weights, of the rows.
var<workgroup> tile_scores: array<vec4<f32>, KEYS>;
// The greatest of eight scores.
var<workgroup> partial_tops: array<vec4<f32>, EIGHTHS>;

// What an invocation has read: two pieces of two keys; values.
struct Keys {
    a: Packed,
    b: Packed,
    c: Packed,
    d: Packed,
}

fn keys_at(base: u32, key: u32, end: u32, piece: u32) -> Keys {
    var keys: Keys;
    keys.a = key_piece(base, key, end, piece * 8u);
    keys.b = key_piece(base, key + KEYS_APART, end, piece * 8u);
    if KEY_OCTS > 1u {
        keys.c = key_piece(base, key, end, (piece + KEY_LANES) * 8u);
        keys.d = key_piece(base, key + KEYS_APART, end, (piece + KEY_LANES) * 8u);
    }
    return keys;
}

fn values_at(base: u32, key: u32, end: u32, column: u32) -> Keys {
    var values: Keys;
    values.a = value_piece(base, key, end, column);
    values.b = value_piece(base, key + VALUES_APART, end, column);
    if 2u * VALUES_APART < KEYS {
        values.c = value_piece(base, key + 2u * VALUES_APART, end, column);
        values.d = value_piece(base, key + 3u * VALUES_APART, end, column);
    }
    return values;
}

// Adds the products of elements with those of the queries.
fn dot_four(to: vec4<f32>, k: vec4<f32>, q: Rows) -> vec4<f32> {
    return to + k.x * q.a + k.y * q.b + k.z * q.c + k.w * q.d;
}

fn queries_at(e: u32, piece: u32) -> Rows {
    let at = e * PIECES + piece;
    return Rows(tile_queries[at], tile_queries[at + PIECES], tile_queries[at + 2u * PIECES], tile_queries[at + 3u * PIECES]);
}

// Adds the products of a piece of two keys to their scores.
fn add_keys(scores: ptr<function, array<vec4<f32>, 2>>, x: Packed, y: Packed, piece: u32) {
    let near = oct_of(x);
    let far = oct_of(y);
    let lo = queries_at(0u, piece);
    (*scores)[0] = dot_four((*scores)[0], near.lo, lo);
    (*scores)[1] = dot_four((*scores)[1], far.lo, lo);
    let hi = queries_at(4u, piece);
    (*scores)[0] = dot_four((*scores)[0], near.hi, hi);
    (*scores)[1] = dot_four((*scores)[1], far.hi, hi);
}

// One element of each row.
fn put_queries(e: u32, piece: u32, r: Rows) {
    let at = e * PIECES + piece;
    tile_queries[at] = vec4<f32>(r.a.x, r.b.x, r.c.x, r.d.x);
    tile_queries[at + PIECES] = vec4<f32>(r.a.y, r.b.y, r.c.y, r.d.y);
    tile_queries[at + 2u * PIECES] = vec4<f32>(r.a.z, r.b.z, r.c.z, r.d.z);
    tile_queries[at + 3u * PIECES] = vec4<f32>(r.a.w, r.b.w, r.c.w, r.d.w);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let share = share_of(group.x + (group.y + group.z * groups.y) * groups.x, ROWS, KEYS);
    begin_factors(share);
    let batch = share.batch;
    let end = share.keys.y;
    let row = min(vec4<u32>(share.row0) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(share.rows - 1u));
    let head = share.head0 + row / params.queries;
    let query = row % params.queries;
    let position = vec4<i32>(query) + share.shift;
    let k_base = params.k_offset + batch * params.k_strides.x + share.kv_head * params.k_strides.y;
    let v_base = params.v_offset + batch * params.v_strides.x + share.kv_head * params.v_strides.y;

    let piece = lid % KEY_LANES;
    let key_mine = lid / KEY_LANES;
    let column = lid % VALUE_LANES * 8u;
    let value_mine = lid / VALUE_LANES;
    var keys = keys_at(k_base, share.keys.x + key_mine, end, piece);
    var values = values_at(v_base, share.keys.x + value_mine, end, column);

    if lid < PIECES {
        var lo = Rows();
        var hi = Rows();
        if lid * 8u < params.head_dim {
            let q = vec4<u32>(params.q_offset + batch * params.q_strides.x + lid * 8u) + head * params.q_strides.y + query * params.q_strides.z;
            let a = query_oct(q.x);
            let b = query_oct(q.y);
            let c = query_oct(q.z);
            let d = query_oct(q.w);
            let scale = vec4<f32>(params.scale);
            lo = times(Rows(a.lo, b.lo, c.lo, d.lo), scale);
            hi = times(Rows(a.hi, b.hi, c.hi, d.hi), scale);
        }
        put_queries(0u, lid, lo);
        put_queries(4u, lid, hi);
    }
    workgroupBarrier();

    var sums = Sums();
    var top = vec4<f32>(-inf_f32());
    var total = vec4<f32>();
    for (var first = share.keys.x; first < end; first += KEYS) {
        // Of the key whose score this invocation adds up.
        var key_scale = 1.0;
        var value_scale = 1.0;
        if FACTORED && lid < KEYS {
            key_scale = key_factor(first + lid, end);
            value_scale = value_factor(first + lid, end);
        }
        var two = array<vec4<f32>, 2>();
        add_keys(&two, keys.a, keys.b, piece);
        if KEY_OCTS > 1u {
            add_keys(&two, keys.c, keys.d, piece + KEY_LANES);
        }
        partial_sums[key_mine * PARTS_PITCH + piece] = two[0];
        partial_sums[(key_mine + KEYS_APART) * PARTS_PITCH + piece] = two[1];
        keys = keys_at(k_base, first + KEYS + key_mine, end, piece);
        workgroupBarrier();
        var s = vec4<f32>();
        if lid < KEYS {
            for (var i = 0u; i < KEY_LANES; i++) {
                s += partial_sums[lid * PARTS_PITCH + i];
            }
            if FACTORED {
                s *= key_scale;
            }
            let key = first + lid;
            if CAPPED || MASKED || first < share.all.x || first + KEYS > share.all.y {
                s.x = seen_score(s.x, Query(batch, head.x, query.x, position.x), key, share.count);
                s.y = seen_score(s.y, Query(batch, head.y, query.y, position.y), key, share.count);
                s.z = seen_score(s.z, Query(batch, head.z, query.z, position.z), key, share.count);
                s.w = seen_score(s.w, Query(batch, head.w, query.w, position.w), key, share.count);
            }
            tile_scores[lid] = s;
        }
        workgroupBarrier();
        if lid < EIGHTHS {
            var greatest = counted(tile_scores[lid * 8u]);
            for (var i = 1u; i < 8u; i++) {
                greatest = max(greatest, counted(tile_scores[lid * 8u + i]));
            }
            partial_tops[lid] = greatest;
        }
        workgroupBarrier();
        var greatest = top;
        for (var i = 0u; i < EIGHTHS; i++) {
            greatest = max(greatest, partial_tops[i]);
        }
        let faded = weights_of(top, greatest);
        top = greatest;
        if lid < KEYS {
            let weights = weights_of(s, top);
            total = total * faded + weights;
            tile_scores[lid] = factored(weights, vec4<f32>(value_scale));
        }
        fade(&sums, faded);
        workgroupBarrier();
        add_value(&sums, tile_scores[value_mine], values.a);
        add_value(&sums, tile_scores[value_mine + VALUES_APART], values.b);
        if 2u * VALUES_APART < KEYS {
            add_value(&sums, tile_scores[value_mine + 2u * VALUES_APART], values.c);
            add_value(&sums, tile_scores[value_mine + 3u * VALUES_APART], values.d);
        }
        values = values_at(v_base, first + KEYS + value_mine, end, column);
    }

    // The totals of the keys' invocations, in two steps.
    workgroupBarrier();
    if lid < KEYS {
        tile_scores[lid] = total;
    }
    workgroupBarrier();
    if lid < EIGHTHS {
        var eight = vec4<f32>();
        for (var i = 0u; i < 8u; i++) {
            eight += tile_scores[lid * 8u + i];
        }
        partial_tops[lid] = eight;
    }
    workgroupBarrier();
    total = vec4<f32>();
    for (var i = 0u; i < EIGHTHS; i++) {
        total += partial_tops[i];
    }
    // The sums, a row at a time.
    let rows = min(ROWS, share.rows - share.row0);
    for (var r = 0u; r < rows; r++) {
        partial_sums[lid * 2u] = row_of(sums.lo, r);
        partial_sums[lid * 2u + 1u] = row_of(sums.hi, r);
        workgroupBarrier();
        if lid < VALUE_LANES * 2u {
            var sum = vec4<f32>();
            for (var i = 0u; i < VALUES_APART; i++) {
                sum += partial_sums[i * VALUE_LANES * 2u + lid];
            }
            if share.inside {
                finish(share, share.row0 + r, lid * 4u, sum, element(top, r), element(total, r));
            }
        }
        workgroupBarrier();
    }
}
