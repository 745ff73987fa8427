// Output part: (key, position) pairs for a later pass.

@group(0) @binding(2) var<storage, read_write> out: array<vec2<u32>>;

fn emit(i: u32, k: key, at: u32) {
    out[i] = vec2<u32>(bitcast<u32>(k), at);
}
