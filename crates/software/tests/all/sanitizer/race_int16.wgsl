// Two numbers of 16 bits with signs, in one word.
enable wgpu_int16;
@group(0) @binding(0) var<storage, read_write> data: array<i16>;
@group(0) @binding(1) var<storage, read_write> out: array<i16>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    data[i] = i16(i);
    out[i / 2u] = i16(i) - i16(70); // FINDS race
}
