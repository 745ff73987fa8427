// Input part: accumulators left by an earlier pass.

@group(0) @binding(1) var<storage, read> a: array<acc>;

fn fetch(i: u32, position: u32) -> acc {
    return a[i];
}
