// all checks: the same within bounds, and infinities that one invocation brings along.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = f32(data[i] + 1u) * 1e-2;
    var sum = subgroupAdd(x) + subgroupInclusiveAdd(x) + subgroupMul(x);
    let infinite = bitcast<f32>(select(0u, 0x7f800000u, i == 5u));
    sum += subgroupAdd(infinite) + subgroupMin(x) + subgroupExclusiveAdd(x);
    out[i] = sum;
}
