// Shared by the matmul kernels: where the matrices of a batch entry begin, and which workgroup this is.
// Requires: Params of params.wgsl.

override WG: u32 = 256u;
override BATCH_AXES: u32 = 1u;

alias acc = elem;

struct Origin {
    a: u32,
    b: u32,
}

// First elements of both matrices of batch entry `batch`.
fn origin(batch: u32) -> Origin {
    var rest = batch;
    var at = Origin(params.a_offset, params.b_offset);
    for (var d = BATCH_AXES; d > 0u; d--) {
        let axis = d - 1u;
        var index = rest;
        if axis > 0u {
            let dim = params.dims[axis / 4u][axis % 4u];
            index = rest % dim;
            rest = rest / dim;
        }
        at.a += index * params.a_strides[axis / 4u][axis % 4u];
        at.b += index * params.b_strides[axis / 4u][axis % 4u];
    }
    return at;
}

// Workgroup number in a grid that was folded over x, y and z.
fn folded(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + (group.y + group.z * groups.y) * groups.x;
}
