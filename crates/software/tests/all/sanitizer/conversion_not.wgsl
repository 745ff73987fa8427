@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = (f32(data[i]) - 0.5) * 1e6;
    data[i] = u32(max(x, 0.0));
    data[i + 64u] = bitcast<u32>(i32(x)) + u32(-0.9 + f32(i));
}
