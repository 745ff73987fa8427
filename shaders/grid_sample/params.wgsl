// Shared by the grid samplers: where in the image an output comes from. One- to three-dimensional images are three-dimensional
// with extents of 1 in front; out is contiguous.
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    outputs: u32,
    offset: u32,
    grid_offset: u32,
    out_offset: u32,
    channels: u32,
    // Positions of the grid per image, and spatial axes.
    plane: u32,
    axes: u32,
    // 1: the coordinates -1 and 1 are the middles of the end elements, else their outer edges.
    align: u32,
    padding: u32,
    x_batch: u32,
    x_channel: u32,
    grid_batch: u32,
    // From one coordinate of a position to the next.
    grid_step: u32,
    reserved_0: u32,
    reserved_1: u32,
    reserved_2: u32,
    // Depth, height, width.
    extent: vec4<u32>,
    result: vec4<u32>,
    steps: vec4<u32>,
    grid_steps: vec4<u32>,
}

override WG: u32 = 256u;

const ZEROS: u32 = 0u;
const REFLECTION: u32 = 2u;
// Further outside than any element's neighbour: coordinates are cut off there, so that everything is finite.
const FAR: f32 = 33554432.0;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read> b: array<f32>;

// The first element of an image's channel, and a place in it in elements.
struct Place {
    base: u32,
    at: vec3<f32>,
}

fn place_in(coordinate: f32, axis: u32) -> f32 {
    let extent = f32(params.extent[axis]);
    let x = clamp(select(coordinate, -1.0, is_nan(coordinate)), -FAR, FAR);
    let middles = (x + 1.0) * 0.5 * (extent - 1.0);
    let edges = ((x + 1.0) * extent - 1.0) * 0.5;
    return clamp(select(edges, middles, params.align == 1u), -FAR, FAR);
}

fn place_of(id: u32) -> Place {
    let position = id % params.plane;
    let image = id / params.plane;
    let batch = image / params.channels;
    let area = params.result.y * params.result.z;
    let index = vec3<u32>(position / area, (position % area) / params.result.z, position % params.result.z);
    let steps = index * params.grid_steps.xyz;
    let first = params.grid_offset + batch * params.grid_batch + steps.x + steps.y + steps.z;
    var at = vec3<f32>(0.0);
    for (var m = 0u; m < params.axes; m++) {
        // The first coordinate belongs to the last axis.
        at[2u - m] = place_in(b[first + m * params.grid_step], 2u - m);
    }
    return Place(params.offset + batch * params.x_batch + (image % params.channels) * params.x_channel, at);
}

// There and back between the middles of the end elements, or between their outer edges.
fn reflected(at: f32, axis: u32) -> f32 {
    let extent = f32(params.extent[axis]);
    let low = select(-0.5, 0.0, params.align == 1u);
    let span = select(extent, extent - 1.0, params.align == 1u);
    if span <= 0.0 {
        return 0.0;
    }
    let distance = abs(at - low);
    let turns = floor(distance / span);
    let rest = distance - turns * span;
    let odd = turns - 2.0 * floor(turns * 0.5) > 0.5;
    return low + select(rest, span - rest, odd);
}

// A place outside as the padding takes it.
fn padded(at: f32, axis: u32) -> f32 {
    if params.padding == ZEROS {
        return at;
    }
    var inside = at;
    if params.padding == REFLECTION {
        inside = reflected(at, axis);
    }
    return clamp(inside, 0.0, f32(params.extent[axis] - 1u));
}

fn padded_place(at: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(padded(at.x, 0u), padded(at.y, 1u), padded(at.z, 2u));
}

fn is_inside(at: vec3<f32>) -> bool {
    return all(at >= vec3<f32>(0.0)) && all(at < vec3<f32>(params.extent.xyz));
}

// The element at a whole place that is inside.
fn element_at(base: u32, at: vec3<f32>) -> elem {
    let steps = vec3<u32>(at) * params.steps.xyz;
    let i = base + steps.x + steps.y + steps.z;
    return from_word(a[word_index(i)], i);
}
