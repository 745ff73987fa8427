// Store part: up to four results of a row, one by one.
// Requires: store1.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

// Results from place r of the row on, whose first result is at `base`; neighbours are `inner` elements from each other.
fn put4(base: u32, r: u32, inner: u32, y: vec4<f32>) {
    if r < params.len {
        store1(base + r * inner, y.x);
    }
    if r + 1u < params.len {
        store1(base + (r + 1u) * inner, y.y);
    }
    if r + 2u < params.len {
        store1(base + (r + 2u) * inner, y.z);
    }
    if r + 3u < params.len {
        store1(base + (r + 3u) * inner, y.w);
    }
}
