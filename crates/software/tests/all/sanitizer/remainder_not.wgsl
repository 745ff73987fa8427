// Remainders, vectors, and an operator with assignment.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let a = vec2(i, i) % vec2(data[i] + 1u, out[i] + 1u);
    var b = i32(i) - 8;
    b /= i32(data[i]) + 7;
    var least = bitcast<i32>(0x80000000u);
    least %= i32(min(data[i], 8u)) - 19;
    out[i] = a.x + a.y + u32(abs(b)) + u32(abs(least % 7));
}
