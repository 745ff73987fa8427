// all checks: sums of products that 16 bits hold, of operands that may be infinite.
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(1) var<storage, read_write> out: array<f16>;
var<workgroup> tile: array<f16, 256>;

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {
    for (var k = i; k < 256u; k += 32u) { tile[k] = 20.0h; }
    workgroupBarrier();
    let left = coopLoadT<coop_mat16x16<f16, A>>(&tile[0], 16u);
    let right = coopLoadT<coop_mat16x16<f16, B>>(&tile[0], 16u);
    var sum = coopLoadT<coop_mat16x16<f16, C>>(&out[0], 16u);
    sum = coopMultiplyAdd(left, right, sum);
    coopStoreT(sum, &out[0], 16u);
    workgroupBarrier();
    // Not born here: it is given.
    tile[i] = f16(bitcast<f32>(0x7f800000u | (i & 0u)));
    workgroupBarrier();
    let given = coopLoadT<coop_mat16x16<f16, A>>(&tile[0], 16u);
    sum = coopMultiplyAdd(given, right, sum);
    coopStoreT(sum, &out[256], 16u);
}
