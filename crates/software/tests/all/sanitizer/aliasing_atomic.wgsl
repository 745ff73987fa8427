// aliased: the reader's buffer is the one that is written.
@group(0) @binding(0) var<storage, read_write> data: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>; // FINDS aliasing

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    if i == 0u {
        atomicStore(&data[out[3]], 1u);
    }
}
