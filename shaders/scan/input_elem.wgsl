// Input part: elements, lifted to the accumulator. Requires: elements4 (order part); identity, lift (operator part).

alias acc4 = array<acc, 4>;

fn lifted(x: elem, inside: bool) -> acc {
    if inside {
        return lift(x);
    }
    return identity();
}

// Those from place r of a row on; at `end` and past it, identities.
fn four(base: u32, r: u32, end: u32) -> acc4 {
    let x = elements4(base, r, end);
    return acc4(lifted(x.x, r < end), lifted(x.y, r + 1u < end), lifted(x.z, r + 2u < end), lifted(x.w, r + 3u < end));
}
