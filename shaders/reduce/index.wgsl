// Shared by the kernels that walk "outputs x reduced elements": reduce, arg_reduce, softmax.
//
// Requires: Params of params.wgsl.
//
// A workgroup is a grid of ROWS x LANES invocations (ROWS * LANES = WG, LANES a power of two): each row
// is one output, its lanes share the reduced elements. ROW_STEP and LANE_STEP say how the grid lies in
// the invocation index: lanes side by side (LANE_STEP = 1) where the reduced axis is contiguous, rows
// side by side (ROW_STEP = 1) where a kept axis is, so that neighbours always read neighbours.

override WG: u32 = 256u;
override ROWS: u32 = 1u;
override LANES: u32 = 256u;
override ROW_STEP: u32 = 256u;
override LANE_STEP: u32 = 1u;
// From one of four elements that a lane takes together to the next: 1, or LANES where elements are read and written one by one, so
// that lanes side by side take neighbours.
override SPACING: u32 = 1u;
override KEPT: u32 = 1u;
override REDUCED: u32 = 1u;

// The first place of a lane among 4 * LANES elements.
fn first_place(lane: u32) -> u32 {
    return select(lane, 4u * lane, SPACING == 1u);
}

// The places of the four elements that begin at place r.
fn four_places(r: u32) -> vec4<u32> {
    return vec4<u32>(r, r + SPACING, r + 2u * SPACING, r + 3u * SPACING);
}

// Element offset of position `i` within the axes `first .. last`.
fn axes_offset(i: u32, first: u32, last: u32) -> u32 {
    var rest = i;
    var at = 0u;
    for (var d = last; d > first; d--) {
        let axis = d - 1u;
        var index = rest;
        if axis > first {
            let dim = params.dims[axis / 4u][axis % 4u];
            index = rest % dim;
            rest = rest / dim;
        }
        at += index * params.strides[axis / 4u][axis % 4u];
    }
    return at;
}

// Where the results of a row begin in a dense output that has `inner` elements behind the reduced axis.
fn results_at(output: u32, inner: u32) -> u32 {
    return params.out_offset + (output / inner) * params.len * inner + output % inner;
}

fn kept_offset(output: u32) -> u32 {
    return params.offset + axes_offset(output, 0u, KEPT);
}

fn reduced_offset(r: u32) -> u32 {
    return axes_offset(r, KEPT, KEPT + REDUCED);
}

// Workgroup number in a grid that was folded over x, y and z.
fn folded(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + (group.y + group.z * groups.y) * groups.x;
}
