// Computes: a transposed convolution of which each phase is there: out[n, f, stride * q + r - cut] = a[n, f, r, q].
// Bindings: params, a, out.
// Grid: one invocation for WIDTH outputs of a row, folded.
// Requires: image, write.
// Accuracy: exact.

// Where the elements of a row of outputs are: the first phase of it along the width.
fn element(first: u32, x: u32) -> acc {
    let at = x + params.cut.z;
    return image(first + at % params.stride.z * params.plane + at / params.stride.z);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let i = (folded(group, groups) * WG + lid) * WIDTH;
    let rows = i / params.result.z;
    let y = rows % params.result.y + params.cut.y;
    var plane = rows / params.result.y;
    var z = 0u;
    if VOLUME == 1u {
        z = plane % params.result.x + params.cut.x;
        plane /= params.result.x;
    }
    if plane < params.planes {
        let phase = (z % params.stride.x * params.stride.y + y % params.stride.y) * params.stride.z;
        let line = z / params.stride.x * params.extent.y + y / params.stride.y;
        let first = params.x_offset + (plane * params.phases + phase) * params.plane + line * params.extent.z;
        write(i, first, i % params.result.z);
    }
}
