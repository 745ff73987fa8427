// Update part: the larger of 32-bit integers. Requires: elem.

@group(0) @binding(3) var<storage, read_write> out: array<atomic<elem>>;

fn update(at: u32, x: elem) {
    atomicMax(&out[at], x);
}
