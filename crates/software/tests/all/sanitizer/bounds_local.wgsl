@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    var seen: array<u32, 32>;
    seen[i] = 1u; // FINDS out-of-bounds
    let pair = vec2<u32>(i, 3u);
    data[i] = seen[i % 32u] + pair[i]; // FINDS out-of-bounds
}
