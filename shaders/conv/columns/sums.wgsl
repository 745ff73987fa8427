// Input part: sums that other dispatches left.

@group(0) @binding(1) var<storage, read> a: array<acc>;

fn image(i: u32) -> acc {
    return a[i];
}
