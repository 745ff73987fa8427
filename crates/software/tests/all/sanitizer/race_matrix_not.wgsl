// Two subgroups store a matrix each in its own place.
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read_write> data: array<f16>;
@group(0) @binding(1) var<storage, read_write> out: array<f16>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let value = coopLoadT<coop_mat16x16<f16, C>>(&data[0], 16u);
    let at = i / 32u * 256u;
    coopStoreT(value, &out[at], 16u);
}
