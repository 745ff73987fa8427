// Order part: four neighbours in the order in which a row is scanned. Requires: row4, row4_tail (access part).

override REVERSE: bool = false;

// Those from place r on, counted from the far end with REVERSE; at `end` and past it, any.
fn elements4(base: u32, r: u32, end: u32) -> vec4<elem> {
    // No branch, so that all loads are in flight together.
    let at = min(r, ((end - 1u) / 4u) * 4u);
    let rest = end - at;
    if !REVERSE {
        if rest >= 4u {
            return row4(base, at);
        }
        return row4_tail(base, at, end);
    }
    if rest >= 4u {
        return row4(base, params.len - 4u - at).wzyx;
    }
    // The row's first ones.
    let x = row4_tail(base, 0u, rest);
    if rest == 3u {
        return x.zyxx;
    }
    if rest == 2u {
        return x.yxxx;
    }
    return x.xxxx;
}
