// Computes: a transposed convolution of which each phase is there: out[n, f, stride * q + r - cut] = a[n, f, r, q].
// Bindings: params, a, out.
// Grid: one invocation for WIDTH outputs of a row, folded.
// Requires: image, write.
// Accuracy: exact.

// The phase of an output of a row, and which element of that it is.
fn place(x: u32) -> vec2<u32> {
    let at = x + params.cut.z;
    return vec2<u32>(at % params.stride.z, at / params.stride.z);
}

// Those of the next output.
fn behind(at: vec2<u32>) -> vec2<u32> {
    return select(vec2<u32>(at.x + 1u, at.y), vec2<u32>(0u, at.y + 1u), at.x + 1u == params.stride.z);
}

// An output of the row whose first phase begins there.
fn element(first: u32, at: vec2<u32>) -> acc {
    return image(first + at.x * params.plane + at.y);
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
        let first = (plane * params.phases + phase) * params.plane + line * params.extent.z;
        write(i, first, i % params.result.z);
    }
}
