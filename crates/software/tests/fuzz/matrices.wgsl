// Cooperative matrices.
enable wgpu_cooperative_matrix;
enable f16;
@group(0) @binding(0) var<storage, read> a: array<f16>;
@group(0) @binding(1) var<storage, read> b: array<f16>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3<u32>) {
    let left = coopLoadT<coop_mat16x16<f16, A>>(&a[group.x], 16u);
    let right = coopLoad<coop_mat16x16<f16, B>>(&b[0], 16u);
    var sum = coopLoadT<coop_mat16x16<f32, C>>(&c[0], 16u);
    for (var i = 0u; i < 3u; i++) { sum = coopMultiplyAdd(left, right, sum); }
    coopStoreT(sum, &c[0], 16u);
}
