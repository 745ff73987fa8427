// Update part: a word takes the update's place, whole. Requires: elem.

@group(0) @binding(3) var<storage, read_write> out: array<atomic<elem>>;

fn update(at: u32, x: elem) {
    atomicStore(&out[at], x);
}
