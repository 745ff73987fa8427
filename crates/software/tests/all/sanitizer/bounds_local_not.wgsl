@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    var seen: array<u32, 64>;
    seen[i] = 1u;
    let pair = vec2<u32>(i, 3u);
    data[i] = seen[i % 32u] + pair[i % 2u];
}
