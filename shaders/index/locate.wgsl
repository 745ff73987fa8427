// From a position to the elements that it and the indices name: the walk that gathers and scatters share. Requires position.wgsl.

struct Params {
    len: u32,
    offset_out: u32,
    // The first element of: the data that is indexed, the indices, the updates.
    offset_data: u32,
    offset_index: u32,
    offset_update: u32,
    // From one component of an index to the next.
    component_stride: u32,
    // Of updates in order: how many positions an index each names, from which on, and how many elements each has.
    positions: u32,
    lanes: u32,
    first: u32,
    unused_0: u32,
    unused_1: u32,
    unused_2: u32,
    // Outermost first: extent, then the strides of data, indices and updates (two's complement).
    axes: array<vec4<u32>, 8>,
    // Per component of an index, two to a vector: the extent of the axis it indexes, and the data's stride there.
    targets: array<vec4<u32>, 4>,
}

override RANK: u32 = 1u;
override COMPONENTS: u32 = 1u;

// Extent and stride of the axis that component m indexes.
fn target_axis(m: u32) -> vec2<u32> {
    let both = params.targets[m / 2u];
    return select(both.xy, both.zw, (m & 1u) == 1u);
}

// The elements of data, indices and updates at linear position i, without what the indices add.
fn walked(i: u32) -> vec3<u32> {
    var rest = i;
    var at = vec3<u32>(params.offset_data, params.offset_index, params.offset_update);
    for (var d = RANK - 1u; d > 0u; d--) {
        let axis = params.axes[d];
        let outer = rest / axis.x;
        at += vec3<u32>(rest - outer * axis.x) * axis.yzw;
        rest = outer;
    }
    return at + vec3<u32>(rest) * params.axes[0].yzw;
}
