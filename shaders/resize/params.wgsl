// Shared by the resampling kernels. Up to three axes (slots) are resampled by a table: for every output along the axis
// `taps` pairs of an input index and the bits of a weight; OUTSIDE as the first index means that the output has no source.
// Every other axis keeps its extent. out is contiguous.
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    outputs: u32,
    offset: u32,
    out_offset: u32,
    extrapolation: f32,
    starts: vec4<u32>,
    taps: vec4<u32>,
    steps: vec4<u32>,
    dims: array<vec4<u32>, 2>,
    strides: array<vec4<u32>, 2>,
    slots: array<vec4<u32>, 2>,
    // The taps of this dispatch.
    first_tap: vec4<u32>,
    end_tap: vec4<u32>,
    // Of sums that take several dispatches: whether there is one to go on with.
    resumed: u32,
    reserved_0: u32,
    reserved_1: u32,
    reserved_2: u32,
}

override WG: u32 = 256u;
override RANK: u32 = 1u;

const SLOTS: u32 = 3u;
const OUTSIDE: u32 = 0xffffffffu;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read> b: array<u32>;

// Where an output comes from: the element at index 0 of the resampled axes, and per slot the first entry of its taps.
struct Place {
    base: u32,
    entry: vec3<u32>,
}

fn place_of(id: u32) -> Place {
    var place = Place(params.offset, params.starts.xyz);
    var rest = id;
    for (var d = RANK; d > 0u; d--) {
        let axis = d - 1u;
        let dim = params.dims[axis / 4u][axis % 4u];
        let index = rest % dim;
        rest = rest / dim;
        let slot = params.slots[axis / 4u][axis % 4u];
        if slot < SLOTS {
            place.entry[slot] += index * params.taps[slot] * 2u;
        } else {
            place.base += index * params.strides[axis / 4u][axis % 4u];
        }
    }
    return place;
}

fn is_outside(place: Place) -> bool {
    return b[place.entry.x] == OUTSIDE || b[place.entry.y] == OUTSIDE || b[place.entry.z] == OUTSIDE;
}
