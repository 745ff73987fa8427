// What a workgroup does: which rows of which key head, and which keys. Requires keys_of, shift_of (length part), seen_by_any.

// A workgroup's share: of `rows` (head of a group, query) pairs of a key head those from `row0` on, of its keys those from
// `keys.x` to before `keys.y`, of which every row sees those from `all.x` to before `all.y`.
struct Share {
    inside: bool,
    batch: u32,
    kv_head: u32,
    column_tile: u32,
    split: u32,
    rows: u32,
    row0: u32,
    head0: u32,
    shift: i32,
    count: u32,
    keys: vec2<u32>,
    all: vec2<u32>,
}

// `tile` rows and `step` keys at a time.
fn share_of(number: u32, tile: u32, step: u32) -> Share {
    var share: Share;
    var id = number;
    share.column_tile = id % params.column_tiles;
    id /= params.column_tiles;
    share.split = id % params.splits;
    id /= params.splits;
    share.kv_head = id % params.kv_heads;
    id /= params.kv_heads;
    // The last rows see most: they begin first.
    let row_tile = params.row_tiles - 1u - id % params.row_tiles;
    id /= params.row_tiles;
    share.inside = id < params.batches;
    share.batch = min(id, params.batches - 1u);

    let shared_by = params.heads / params.kv_heads;
    share.rows = shared_by * params.queries;
    share.row0 = params.row0 + row_tile * tile;
    share.head0 = share.kv_head * shared_by;
    share.shift = shift_of(share.batch);
    share.count = keys_of(share.batch);

    let last = min(share.row0 + tile, share.rows) - 1u;
    var low = share.row0 % params.queries;
    var high = last % params.queries;
    if share.row0 / params.queries != last / params.queries {
        low = 0u;
        high = params.queries - 1u;
    }
    let first_position = i32(low) + share.shift;
    let last_position = i32(high) + share.shift;
    let any = seen_by_any(first_position, last_position, share.count);
    share.all = seen_by_any(last_position, first_position, share.count);
    let begin = share.split * params.span;
    share.keys = vec2<u32>(max(begin, any.x / step * step), min(begin + params.span, any.y));
    return share;
}
