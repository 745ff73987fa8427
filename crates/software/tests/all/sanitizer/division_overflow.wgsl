@group(0) @binding(0) var<storage, read_write> data: array<i32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let least = i32(0x80000000u + i);
    data[i] = vec2<i32>(least, 5).x / (data[i] * 2 - 1); // FINDS division-overflow
}
