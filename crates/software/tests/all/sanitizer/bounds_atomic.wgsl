@group(0) @binding(0) var<storage, read_write> data: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<workgroup> counts: array<atomic<u32>, 4>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    atomicAdd(&data[i + 200u], 1u); // FINDS out-of-bounds
    atomicMax(&counts[i % 5u], i); // FINDS out-of-bounds
    out[i] = atomicExchange(&data[i * 5u], 3u); // FINDS out-of-bounds
}
