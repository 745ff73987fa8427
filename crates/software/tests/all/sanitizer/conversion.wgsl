@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = (f32(data[i]) - 1.5) * 1e8;
    data[i] = u32(x); // FINDS conversion
    data[i + 64u] = bitcast<u32>(i32(x)); // FINDS conversion
}
