@group(0) @binding(0) var<storage, read_write> data: array<i32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let least = i32(0x80000001u + i);
    data[i] = least / select(data[i] - 1, -1, data[i] == 1);
}
