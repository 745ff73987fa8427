// Input part: elements of the tensor; the position is the place in the reduced axes, of which `identity` lie before these.
// Requires: load_value (value part).

fn fetch_key(i: u32) -> key {
    return tie_key(load_value(i));
}

fn fetch_position(i: u32, r: u32) -> u32 {
    return params.identity + r;
}
