@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let a = vec2(i, i) << vec2(data[i] % 32u, 1u);
    var b = -i32(i);
    b >>= data[i] / 2u;
    out[i] = a.x + u32(abs(b));
}
