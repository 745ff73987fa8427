enable f16;
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = f32(data[i]);
    let a = vec2<i32>(vec2(x, x * 1e7));
    let b = u32(f16(x) + 4.0h);
    let c = i32(x / (x + 7.0));
    out[i] = u32(abs(a.x)) + b + u32(c & 1);
}
