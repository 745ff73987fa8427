// Update part: the sum of 32-bit integers, which wraps, or of f32. Requires: elem.

@group(0) @binding(3) var<storage, read_write> out: array<atomic<elem>>;

fn update(at: u32, x: elem) {
    atomicAdd(&out[at], x);
}
