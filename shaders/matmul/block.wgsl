// Shared by kernels that take operands in blocks of 4 x 4: for four neighbours along k the four rows of a, or columns of b.

struct Block {
    k0: vec4<acc>,
    k1: vec4<acc>,
    k2: vec4<acc>,
    k3: vec4<acc>,
}

// Of four vectors along k, one for each row or column.
fn across(v0: vec4<acc>, v1: vec4<acc>, v2: vec4<acc>, v3: vec4<acc>) -> Block {
    return Block(
        vec4<acc>(v0.x, v1.x, v2.x, v3.x),
        vec4<acc>(v0.y, v1.y, v2.y, v3.y),
        vec4<acc>(v0.z, v1.z, v2.z, v3.z),
        vec4<acc>(v0.w, v1.w, v2.w, v3.w),
    );
}
