// Shared by the matmul kernels: batch of [m, k] x [k, n] products over any strides.
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    m: u32,
    n: u32,
    k: u32,
    batch: u32,
    a_offset: u32,
    b_offset: u32,
    out_offset: u32,
    chunks: u32,
    a_row: u32,
    a_depth: u32,
    b_depth: u32,
    b_col: u32,
    chunk_len: u32,
    tiles_m: u32,
    tiles_n: u32,
    reserved: u32,
    dims: array<vec4<u32>, 2>,
    a_strides: array<vec4<u32>, 2>,
    b_strides: array<vec4<u32>, 2>,
}

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
