// A matrix of 256 elements of which the last lie behind the buffer.
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read_write> data: array<f16>;
@group(0) @binding(1) var<storage, read_write> out: array<f16>;

@compute @workgroup_size(32)
fn main() {
    let value = coopLoadT<coop_mat16x16<f16, C>>(&data[300], 16u); // FINDS out-of-bounds
    coopStoreT(value, &out[0], 31u);
}
