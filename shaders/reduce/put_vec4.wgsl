// Store part: four results of a row at once, where rows of results lie in memory in whole vectors.
// Requires: store4.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

// Results from place r of the row on, whose first result is at `base`; neighbours are `inner` elements from each other.
fn put4(base: u32, r: u32, inner: u32, y: vec4<f32>) {
    if r < params.len {
        store4(base + r, y);
    }
}
