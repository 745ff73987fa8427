// Key part: floats as signed integers in the same order, NaN above everything, by bits only.
// With LEAST = 1 the order is reversed (NaN still on top), so that the greatest key is the minimum.

override LEAST: u32 = 0u;

alias key = i32;

fn to_key(x: elem) -> key {
    let bits = bitcast<i32>(x);
    if (bits & 0x7fffffff) > 0x7f800000 {
        return 0x7fffffff;
    }
    let ordered = bits ^ ((bits >> 31u) & 0x7fffffff);
    return select(ordered, ~ordered, LEAST == 1u);
}

fn from_key(k: key) -> f32 {
    let ordered = select(k, ~k, LEAST == 1u);
    return bitcast<f32>(ordered ^ ((ordered >> 31u) & 0x7fffffff));
}

// Key that does not tell -0 from +0: for ties.
fn tie_key(x: elem) -> key {
    let magnitude = bitcast<u32>(x) & 0x7fffffffu;
    if magnitude == 0u {
        return select(0, -1, LEAST == 1u);
    }
    return to_key(x);
}
