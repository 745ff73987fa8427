// part: only the first 64 bytes of the buffer are bound.
@group(0) @binding(0) var<storage, read_write> data: array<vec4<f32>>;

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
    if i < 4u {
        data[i] = vec4(f32(i));
    }
}
