// undefined: bytes 64 to 128 of both buffers.
@group(0) @binding(0) var<storage, read_write> data: array<atomic<u32>>; // sanitizer: writes-all
@group(0) @binding(1) var<storage, read_write> out: array<u32>; // sanitizer: writes-all

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {
    atomicStore(&data[i], i);
    out[i] = i;
}
