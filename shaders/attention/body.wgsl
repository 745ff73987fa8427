// Computes: out = softmax(scale * q k^T, capped, plus bias, over the keys that may be seen) v, without storing the scores: tiles of
//           TILE keys are passed over once, with a running maximum and sum per row, in f32. Rows are (head of a group, query) pairs,
//           so that the query heads that share a key head share its tiles. A key of weight 0 does not touch the result.
// Bindings: params, a: q, out, b: k, c: v (any strides), those of the mask, length and state parts.
// Grid: batches * kv_heads * row_tiles * column_tiles workgroups, folded; a workgroup makes TILE rows of COLUMNS columns.
// Requires: bias_at (mask part), keys_of, shift_of (length part), tanh_of (cap part), begun_row, left_row (state part), exp_nonpositive.
// Accuracy: 8 ε · (4 · dim · scale + 8) for values up to 2, then one rounding to the dtype.
// Source: Milakov and Gimelshein (2018), "Online normalizer calculation for softmax"; Dao et al. (2022), "FlashAttention".

const TILE: u32 = 16u;
const DEPTH: u32 = 32u;
const COLUMNS: u32 = 256u;

const CAUSAL: u32 = 1u;
const LEFT: u32 = 2u;
const RIGHT: u32 = 4u;
const ZERO: u32 = 8u;

override WG: u32 = 256u;
// Columns of the result in steps of 64, at most 4.
override STEPS: u32 = 4u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read_write> out: array<cell>;
@group(0) @binding(3) var<storage, read> b: array<word>;
@group(0) @binding(4) var<storage, read> c: array<word>;

var<workgroup> tile_q: array<f32, 528>;
var<workgroup> tile_k: array<f32, 528>;
var<workgroup> tile_s: array<f32, 256>;
var<workgroup> tile_v: array<vec4<f32>, 256>;

// What an invocation has of its row after some keys.
struct Row {
    sums: array<vec4<f32>, 4>,
    top: f32,
    total: f32,
}

fn new_row() -> Row {
    return Row(array<vec4<f32>, 4>(), -inf_f32(), 0.0);
}

fn id_of_row(group: vec3<u32>, groups: vec3<u32>, lid: u32) -> u32 {
    return (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
}

// Whether a query may see a key by their places alone.
fn in_sight(position: i32, key: u32, keys: u32) -> bool {
    let behind = position - i32(key);
    return key < keys
        && ((params.flags & CAUSAL) == 0u || behind >= 0)
        && ((params.flags & LEFT) == 0u || behind <= params.left)
        && ((params.flags & RIGHT) == 0u || -behind <= params.right);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    var id = group.x + (group.y + group.z * groups.y) * groups.x;
    let column_tile = id % params.column_tiles;
    id /= params.column_tiles;
    let row_tile = id % params.row_tiles;
    id /= params.row_tiles;
    let kv_head = id % params.kv_heads;
    let batch = min(id / params.kv_heads, params.batches - 1u);
    let inside = id / params.kv_heads < params.batches;

    // This invocation makes the score of (row, lane) and columns 4 * lane .. + 3 of each step of its row.
    let row = lid / TILE;
    let lane = lid % TILE;
    let shared_by = params.heads / params.kv_heads;
    let rows = shared_by * params.queries;
    let pair = row_tile * TILE + row;
    let live = inside && pair < rows;
    let head = kv_head * shared_by + min(pair, rows - 1u) / params.queries;
    let query = min(pair, rows - 1u) % params.queries;
    let position = i32(query) + shift_of(batch);
    let keys = keys_of(batch);
    let k_base = params.k_offset + batch * params.k_strides.x + kv_head * params.k_strides.y;
    let v_base = params.v_offset + batch * params.v_strides.x + kv_head * params.v_strides.y;
    let q_base = params.q_offset + batch * params.q_strides.x + head * params.q_strides.y + query * params.q_strides.z;

    var begun = new_row();
    if live {
        begun = begun_row(id_of_row(group, groups, lid));
    }
    var sums = begun.sums;
    var top = begun.top;
    var total = begun.total;
    for (var first = params.first_key; first < params.end_key; first += TILE) {
        var score = 0.0;
        for (var depth = 0u; depth < params.head_dim; depth += DEPTH) {
            for (var half = 0u; half < DEPTH; half += TILE) {
                let d = depth + half + lane;
                let key = first + row;
                var q = 0.0;
                var k = 0.0;
                if d < params.head_dim {
                    let q_at = q_base + d * params.q_strides.w;
                    q = from_word(a[word_index(q_at)], q_at) * params.scale;
                    if key < params.keys {
                        let k_at = k_base + key * params.k_strides.z + d * params.k_strides.w;
                        k = from_word(b[word_index(k_at)], k_at);
                    }
                }
                tile_q[row * 33u + half + lane] = q;
                tile_k[row * 33u + half + lane] = k;
            }
            workgroupBarrier();
            for (var d = 0u; d < DEPTH; d++) {
                score += tile_q[row * 33u + d] * tile_k[lane * 33u + d];
            }
            workgroupBarrier();
        }

        let key = first + lane;
        let hidden = -inf_f32();
        var seen = hidden;
        if live && in_sight(position, key, keys) {
            let bias = bias_at(batch, head, query, key);
            if bitcast<u32>(bias) != 0xff800000u {
                seen = capped(score) + bias;
            }
        }
        tile_s[lid] = seen;
        workgroupBarrier();

        var greatest = top;
        for (var i = 0u; i < TILE; i++) {
            let s = tile_s[row * TILE + i];
            // A score that is not a number makes its row so, below; any finite maximum does for that.
            greatest = max(greatest, select(s, 0.0, is_nan(s)));
        }
        let faded = exp_of(top, greatest);
        total *= faded;
        for (var step = 0u; step < STEPS; step++) {
            sums[step] *= faded;
        }
        top = greatest;
        for (var i = 0u; i < TILE; i++) {
            total += exp_of(tile_s[row * TILE + i], greatest);
        }

        for (var step = 0u; step < STEPS; step++) {
            let column = column_tile * COLUMNS + step * 64u + lane * 4u;
            var v = vec4<f32>();
            if first + row < params.keys {
                for (var i = 0u; i < 4u; i++) {
                    if column + i < params.value_dim {
                        let v_at = v_base + (first + row) * params.v_strides.z + (column + i) * params.v_strides.w;
                        v[i] = from_word(c[word_index(v_at)], v_at);
                    }
                }
            }
            tile_v[lid] = v;
            workgroupBarrier();
            for (var i = 0u; i < TILE; i++) {
                let weight = exp_of(tile_s[row * TILE + i], greatest);
                // By bits: NaN must not pass for 0.
                if bitcast<u32>(weight) != 0u {
                    sums[step] += weight * tile_v[i * TILE + lane];
                }
            }
            workgroupBarrier();
        }
    }

    if live && !left_row(id_of_row(group, groups, lid), Row(sums, top, total)) {
        let empty = bitcast<u32>(top) == 0xff800000u;
        let none = select(nan_f32(), 0.0, (params.flags & ZERO) != 0u);
        let line = params.out_offset + batch * params.out_strides.x + head * params.out_strides.y + query * params.out_strides.z;
        for (var step = 0u; step < STEPS; step++) {
            for (var i = 0u; i < 4u; i++) {
                let column = column_tile * COLUMNS + step * 64u + lane * 4u + i;
                if column < params.value_dim {
                    var y = none;
                    if !empty {
                        y = sums[step][i] / total;
                    }
                    store1(line + column * params.out_strides.w, y);
                }
            }
        }
    }
}
