// Two halves of a word are two places.
enable f16;
@group(0) @binding(0) var<storage, read_write> data: array<f16>;
@group(0) @binding(1) var<storage, read_write> out: array<f16>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    data[i] = f16(i);
    out[63u - i] = f16(i);
}
