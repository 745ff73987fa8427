// all
@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = f32(data[i]);
    let y = vec2(x, 1.0) / vec2(x); // FINDS non-finite
    let z = exp(x * 2.0); // FINDS non-finite
    data[i] = bitcast<u32>(y.x + y.y + z);
}
