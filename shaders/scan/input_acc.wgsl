// Input part: accumulators left by an earlier pass. Requires: acc, identity (operator part).

@group(0) @binding(1) var<storage, read> a: array<acc>;

alias acc4 = array<acc, 4>;

fn one(i: u32, r: u32, end: u32) -> acc {
    if r < end {
        return a[i + r];
    }
    return identity();
}

fn four(base: u32, r: u32, end: u32) -> acc4 {
    return acc4(one(base, r, end), one(base, r + 1u, end), one(base, r + 2u, end), one(base, r + 3u, end));
}
