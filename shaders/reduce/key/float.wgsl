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

// Key that does not tell -0 from +0, whose keys are -1 and 0: for ties.
fn tie_key(x: elem) -> key {
    let k = to_key(x);
    return k - (k >> 31u);
}

// The greatest of four such keys. By bits: the greatest of four floats is the greatest integer, or the least if all are negative.
fn greatest_tie_key(x: vec4<elem>) -> key {
    let i = bitcast<vec4<i32>>(x);
    let u = bitcast<vec4<u32>>(x);
    let least = min(min(i.x, i.y), min(i.z, i.w));
    let most = max(max(i.x, i.y), max(i.z, i.w));
    let far = max(max(u.x, u.y), max(u.z, u.w));
    let bits = select(select(least, most, most >= 0), select(least, bitcast<i32>(far), far >= 0x80000000u), LEAST == 1u);
    let ordered = bits ^ ((bits >> 31u) & 0x7fffffff);
    let k = select(ordered, ~ordered, LEAST == 1u);
    return select(k - (k >> 31u), 0x7fffffff, (most > 0x7f800000) | (far > 0xff800000u));
}

fn from_tie_key(k: key) -> f32 {
    return from_key(k + (k >> 31u));
}
