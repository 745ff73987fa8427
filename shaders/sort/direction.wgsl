// Keys in the order wanted. Requires: elem; sort_key (key part).

override DESCENDING: bool = false;
// The bits of a key.
override KEY_MASK: u32 = 0xffffffffu;

fn ordered_key(x: elem) -> u32 {
    let ascending = sort_key(x);
    return select(ascending, ~ascending & KEY_MASK, DESCENDING);
}
