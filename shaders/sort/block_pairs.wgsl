// Input part: keys and places that an earlier sort of blocks left.

@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<u32>;

fn key_at(i: u32) -> u32 {
    return a[i];
}

fn place_at(i: u32, within: u32) -> u32 {
    return b[i];
}
