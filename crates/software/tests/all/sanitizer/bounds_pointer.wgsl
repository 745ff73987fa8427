// Through pointers, and in a private variable.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<private> mine: array<u32, 8>;

fn pick(source: ptr<function, array<u32, 4>>, i: u32) -> u32 {
    return (*source)[i]; // FINDS out-of-bounds
}

fn put(to: ptr<private, array<u32, 8>>, i: u32, value: u32) {
    (*to)[i] = value; // FINDS out-of-bounds
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    var local = array<u32, 4>(1u, 2u, 3u, 4u);
    put(&mine, data[i] % 9u, pick(&local, data[i] % 5u));
    out[i] = mine[out[i] + i % 10u]; // FINDS out-of-bounds
}
