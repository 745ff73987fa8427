// undefined: bytes 64 to 128 of both buffers.
@group(0) @binding(0) var<storage, read_write> data: array<u32>; // sanitizer: writes-all // FINDS unwritten-output
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {
    // One word of `data` is left out; `out` promises nothing.
    if i != 20u { data[i] = i; }
    if i == 0u { out[i] = i; }
}
