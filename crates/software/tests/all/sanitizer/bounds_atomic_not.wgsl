@group(0) @binding(0) var<storage, read_write> data: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<workgroup> counts: array<atomic<u32>, 4>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    atomicAdd(&data[i + 100u], 1u);
    atomicMax(&counts[i % 4u], i);
    out[i] = atomicExchange(&data[i + 192u], 3u);
}
