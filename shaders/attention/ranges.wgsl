// Computes: of the queries, keys and values of a key head, each in 16 blocks of rows, the largest exponent and the least one that
//           counts (range part), biased by 127: the largest + 2^16 times the least, which is 2^16 - 1 where all elements are 0.
// Bindings: params, q, ranges, k, v, lengths part.
// Grid: batches * kv_heads * 3 operands * 16 blocks workgroups, folded.
// Requires: keys_of (length part), words, range_of and MANTISSA (range part).
// Accuracy: exact.

override WG: u32 = 256u;
const RANGES: u32 = 16u;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<words>;
@group(0) @binding(4) var<storage, read> c: array<words>;

// The largest magnitude, and the least above 0, less 1.
var<workgroup> tile_ranges: array<vec2<u32>, WG>;

fn joined(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(max(x.x, y.x), min(x.y, y.y));
}

// Elements from `at` on of an operand.
fn four_of(operand: u32, at: u32) -> words {
    var four: words;
    if operand == 0u {
        four = a[at / 4u];
    } else if operand == 1u {
        four = b[at / 4u];
    } else {
        four = c[at / 4u];
    }
    return four;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let slot = group.x + (group.y + group.z * groups.y) * groups.x;
    let block = slot % RANGES;
    let operand = slot / RANGES % 3u;
    let kv_head = slot / (3u * RANGES) % params.kv_heads;
    let number = slot / (3u * RANGES) / params.kv_heads;
    let inside = number < params.batches;
    let batch = min(number, params.batches - 1u);
    let shared_by = params.heads / params.kv_heads;

    var offset = params.q_offset;
    var strides = params.q_strides;
    var rows = shared_by * params.queries;
    var vectors = params.head_dim / 4u;
    if operand == 1u {
        offset = params.k_offset;
        strides = params.k_strides;
        rows = keys_of(batch);
    } else if operand == 2u {
        offset = params.v_offset;
        strides = params.v_strides;
        rows = keys_of(batch);
        vectors = params.value_dim / 4u;
    }
    // Rows of one head: queries of `shared_by` of them, keys and values of one.
    let length = select(params.keys, params.queries, operand == 0u);
    let head0 = select(kv_head, kv_head * shared_by, operand == 0u);
    // As many invocations as vectors, or more, have a row.
    let across = 1u << (32u - countLeadingZeros(vectors - 1u));
    let each = (rows + RANGES - 1u) / RANGES;
    let end = min((block + 1u) * each, rows);
    var range = vec2<u32>(0u, 0xffffffffu);
    if lid % across < vectors {
        for (var row = block * each + lid / across; row < end; row += WG / across) {
            let at = offset + batch * strides.x + (head0 + row / length) * strides.y + row % length * strides.z;
            range = joined(range, range_of(four_of(operand, at + lid % across * 4u)));
        }
    }
    tile_ranges[lid] = range;
    workgroupBarrier();
    for (var step = WG / 2u; step > 0u; step /= 2u) {
        if lid < step {
            tile_ranges[lid] = joined(tile_ranges[lid], tile_ranges[lid + step]);
        }
        workgroupBarrier();
    }
    if lid == 0u && inside {
        let all = tile_ranges[0];
        out[slot] = (all.x >> MANTISSA) | select(((all.y + 1u) >> MANTISSA) << 16u, 0xffff0000u, all.y == 0xffffffffu);
    }
}
