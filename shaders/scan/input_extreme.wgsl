// Input part: elements as keys with their positions, of which `identity` lie before these. Requires: elements4 (order part);
// identity (operator part); tie_key (key part).

alias acc4 = array<acc, 4>;

fn lifted(x: elem, r: u32, end: u32) -> acc {
    if r >= end {
        return identity();
    }
    var at = r;
    if REVERSE {
        at = params.len - 1u - r;
    }
    return Extreme(tie_key(x), params.identity + at);
}

// Those from place r of a row on; at `end` and past it, identities.
fn four(base: u32, r: u32, end: u32) -> acc4 {
    let x = elements4(base, r, end);
    return acc4(lifted(x.x, r, end), lifted(x.y, r + 1u, end), lifted(x.z, r + 2u, end), lifted(x.w, r + 3u, end));
}
