// Store part: up to four results of a row, SPACING places from each other, one by one.
// Requires: store1; four_places.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

// Results from place r of the row on, whose first result is at `base`; neighbours are `inner` elements from each other.
fn put4(base: u32, r: u32, inner: u32, y: vec4<f32>) {
    let places = four_places(r);
    if places.x < params.len {
        store1(base + places.x * inner, y.x);
    }
    if places.y < params.len {
        store1(base + places.y * inner, y.y);
    }
    if places.z < params.len {
        store1(base + places.z * inner, y.z);
    }
    if places.w < params.len {
        store1(base + places.w * inner, y.w);
    }
}
