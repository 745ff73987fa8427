// Input part: (key, position) pairs left by an earlier pass.

@group(0) @binding(1) var<storage, read> a: array<vec2<u32>>;

fn fetch_key(i: u32) -> key {
    return bitcast<key>(a[i].x);
}

fn fetch_position(i: u32, r: u32) -> u32 {
    return a[i].y;
}
