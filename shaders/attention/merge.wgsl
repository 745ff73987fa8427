// Computes: rows of attention from what several workgroups have of them: each saw other keys.
// Bindings: params, a: state, out (result part). Of params, row_tiles does not count.
// Grid: a workgroup of 256 invocations for ROWS rows and a tile of LANES vectors of columns, folded.
// Requires: finish (whole.wgsl), state_at, weights_of.
// Accuracy: that of the parts; 3 ε more for each 4 * SHARES splits, and once for what the shares have together.

override WG: u32 = 256u;
// Invocations along columns, one vector each, and those that share the splits of a row.
override LANES: u32 = 32u;
override SHARES: u32 = 8u;

override ROWS: u32 = WG / (LANES * SHARES);

@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;

var<workgroup> partial_sums: array<vec4<f32>, WG>;
var<workgroup> partial_ends: array<vec2<f32>, WG>;

// The sums of a row over some splits.
struct Row {
    sums: vec4<f32>,
    top: f32,
    total: f32,
}

// What fades to nothing is nothing, whatever it is.
fn faded(sums: vec4<f32>, x: f32) -> vec4<f32> {
    return select(sums * x, vec4<f32>(), bitcast<u32>(x) == 0u);
}

fn row_at(split: u32, share: Share, column: u32) -> Row {
    var row = Row(vec4<f32>(), -inf_f32(), 0.0);
    if split < params.splits && column * 4u < params.value_dim {
        let at = state_at(split, share.batch, share.kv_head, share.row0);
        let end = a[at + state_pitch() - 1u];
        row = Row(a[at + column], end.x, end.y);
    }
    return row;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    var id = group.x + (group.y + group.z * groups.y) * groups.x;
    let column = id % params.column_tiles * LANES + lid % LANES;
    let part = lid / LANES % SHARES;
    // Of all rows of the dispatch, counted from its first one.
    id = id / params.column_tiles * ROWS + lid / (LANES * SHARES);
    var share: Share;
    share.row0 = id % params.state_rows;
    id /= params.state_rows;
    share.kv_head = id % params.kv_heads;
    id /= params.kv_heads;
    share.batch = min(id, params.batches - 1u);
    let shared_by = params.heads / params.kv_heads;
    share.head0 = share.kv_head * shared_by;
    let row = params.row0 + share.row0;
    let live = id < params.batches && row < shared_by * params.queries;

    var sum = Row(vec4<f32>(), -inf_f32(), 0.0);
    if live {
        for (var split = part; split < params.splits; split += 4u * SHARES) {
            let first = row_at(split, share, column);
            let second = row_at(split + SHARES, share, column);
            let third = row_at(split + 2u * SHARES, share, column);
            let fourth = row_at(split + 3u * SHARES, share, column);
            let tops = vec4<f32>(first.top, second.top, third.top, fourth.top);
            let greatest = max(sum.top, max(max(tops.x, tops.y), max(tops.z, tops.w)));
            let w = weights_of(tops, vec4<f32>(greatest));
            let kept = weights_of(vec4<f32>(sum.top), vec4<f32>(greatest)).x;
            let all = faded(sum.sums, kept) + ((faded(first.sums, w.x) + faded(second.sums, w.y)) + (faded(third.sums, w.z) + faded(fourth.sums, w.w)));
            sum = Row(all, greatest, sum.total * kept + ((first.total * w.x + second.total * w.y) + (third.total * w.z + fourth.total * w.w)));
        }
    }
    partial_sums[lid] = sum.sums;
    partial_ends[lid] = vec2<f32>(sum.top, sum.total);
    workgroupBarrier();
    if live && part == 0u {
        var greatest = sum.top;
        for (var i = 1u; i < SHARES; i++) {
            greatest = max(greatest, partial_ends[lid + i * LANES].x);
        }
        var all = vec4<f32>();
        var total = 0.0;
        for (var i = 0u; i < SHARES; i++) {
            let at = lid + i * LANES;
            let w = weights_of(vec4<f32>(partial_ends[at].x), vec4<f32>(greatest)).x;
            all += faded(partial_sums[at], w);
            total += partial_ends[at].y * w;
        }
        finish(share, row, column * 4u, all, greatest, total);
    }
}
