// Input part: elements of the tensor; the position is the place in the reduced axes, of which `identity` lie before these.
// Requires: row4, row4_tail (access part).

fn greatest_of(base: u32, r: u32) -> key {
    return greatest_tie_key(row4(base, r));
}

fn greatest_of_tail(base: u32, r: u32, end: u32) -> key {
    return greatest_tie_key(row4_tail(base, r, end));
}

fn fetch_keys(base: u32, r: u32, end: u32) -> vec4<key> {
    let x = row4_tail(base, r, end);
    return vec4<key>(tie_key(x.x), tie_key(x.y), tie_key(x.z), tie_key(x.w));
}

fn fetch_position(base: u32, r: u32) -> u32 {
    return params.identity + r;
}
