// Which keys a query sees by their places alone. Requires keys_of and shift_of (length part).

const CAUSAL: u32 = 1u;
const LEFT: u32 = 2u;
const RIGHT: u32 = 4u;
const ZERO: u32 = 8u;

fn has(flag: u32) -> bool {
    return (params.flags & flag) != 0u;
}

// How many keys are at most `extent` behind a position; the sum does not overflow.
fn keys_upto(position: i32, extent: i32) -> u32 {
    let far = position + min(extent, 2147483647 - max(position, 0));
    return select(0u, u32(far) + 1u, far >= 0);
}

// How many keys are more than `extent` before a position.
fn keys_before(position: i32, extent: i32) -> u32 {
    return select(0u, u32(position - extent), position > extent);
}

// Keys from .x to before .y are all that queries from position `low` to `high` see of `keys`.
fn seen_by_any(low: i32, high: i32, keys: u32) -> vec2<u32> {
    var seen = vec2<u32>(0u, keys);
    if has(CAUSAL) {
        seen.y = min(seen.y, keys_upto(high, 0));
    }
    if has(RIGHT) {
        seen.y = min(seen.y, keys_upto(high, params.right));
    }
    if has(LEFT) {
        seen.x = keys_before(low, params.left);
    }
    return seen;
}
