// Input part: (key, position) pairs left by an earlier pass, in the order of their positions. Past the end, the last one.

@group(0) @binding(1) var<storage, read> a: array<vec2<u32>>;

fn pair_key(base: u32, r: u32) -> key {
    return bitcast<key>(a[base + reduced_offset(r)].x);
}

fn fetch_keys(base: u32, r: u32, end: u32) -> vec4<key> {
    let last = end - 1u;
    return vec4<key>(
        pair_key(base, r),
        pair_key(base, min(r + 1u, last)),
        pair_key(base, min(r + 2u, last)),
        pair_key(base, min(r + 3u, last)),
    );
}

fn greatest_of_tail(base: u32, r: u32, end: u32) -> key {
    let k = fetch_keys(base, r, end);
    return max(max(k.x, k.y), max(k.z, k.w));
}

fn greatest_of(base: u32, r: u32) -> key {
    return greatest_of_tail(base, r, r + 4u);
}

fn fetch_position(base: u32, r: u32) -> u32 {
    return a[base + reduced_offset(r)].y;
}
