// A matrix of 256 elements at the end of the buffer.
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read_write> data: array<f16>;
@group(0) @binding(1) var<storage, read_write> out: array<f16>;

@compute @workgroup_size(32)
fn main() {
    let value = coopLoadT<coop_mat16x16<f16, C>>(&data[256], 16u);
    coopStoreT(value, &out[0], 31u);
}
