// undefined: bytes 64 to 128 of both buffers.
@group(0) @binding(0) var<storage, read_write> data: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {
    // A byte is stored in two steps; what is not written yet is not looked at.
    for (var byte = 0u; byte < 4u; byte++) {
        atomicAnd(&data[i], ~(0xffu << (byte * 8u)));
        atomicOr(&data[i], (i & 0xffu) << (byte * 8u));
    }
    out[i] = atomicLoad(&data[i]);
}
