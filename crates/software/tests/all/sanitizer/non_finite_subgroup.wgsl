// all checks: sums and products of a subgroup.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = f32(data[i] + 1u) * 1e36;
    var sum = subgroupAdd(x); // FINDS non-finite
    sum = subgroupInclusiveAdd(x) * 0.0; // FINDS non-finite
    sum = subgroupMul(x); // FINDS non-finite
    out[i] = sum;
}
