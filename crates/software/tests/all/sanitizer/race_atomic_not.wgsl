@group(0) @binding(0) var<storage, read_write> counters: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> plain: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    atomicAdd(&counters[0], 1u);
    if i == 5u {
        plain[0] = atomicLoad(&counters[0]);
    }
}
