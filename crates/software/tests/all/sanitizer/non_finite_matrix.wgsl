// all checks: sums of products that 16 bits cannot hold.
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(1) var<storage, read_write> out: array<f16>;
var<workgroup> tile: array<f16, 256>;

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {
    for (var k = i; k < 256u; k += 32u) { tile[k] = 200.0h; }
    workgroupBarrier();
    let left = coopLoadT<coop_mat16x16<f16, A>>(&tile[0], 16u);
    let right = coopLoadT<coop_mat16x16<f16, B>>(&tile[0], 16u);
    var sum = coopLoadT<coop_mat16x16<f16, C>>(&out[0], 16u);
    sum = coopMultiplyAdd(left, right, sum); // FINDS non-finite
    coopStoreT(sum, &out[0], 16u);
}
