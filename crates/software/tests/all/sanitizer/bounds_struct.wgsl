// The array at a struct's end, and a vector and a matrix by index.
struct List {
    len: u32,
    items: array<u32>,
}
@group(0) @binding(0) var<storage, read_write> data: List;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let last = arrayLength(&data.items);
    data.items[last - 63u + i] = i; // FINDS out-of-bounds
    let three = vec3(i, i + 1u, i + 2u);
    let picked = three[out[i] + i % 4u]; // FINDS out-of-bounds
    let square = mat2x2<f32>(1.0, 2.0, 3.0, 4.0);
    let column = square[out[i] + i % 3u]; // FINDS out-of-bounds
    out[i] = picked + u32(column.x);
}
