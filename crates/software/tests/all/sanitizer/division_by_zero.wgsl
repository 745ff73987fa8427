@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    data[i] = 100u / data[i] // FINDS division-by-zero
        + u32(100 % i32(data[i])); // FINDS division-by-zero
}
