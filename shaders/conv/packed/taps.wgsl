// Shared by what packs a convolution and what multiplies it: which pixels a tap reads.
//
// Packed images have the padding as zeros, where it is shared by neighbouring rows and images if the stride is 1. Of longer
// strides each part holds the pixels that some taps read, so that those of neighbouring positions are always neighbours.

// 1: the taps along the width count as channels.
override FOLD: u32 = 0u;

// Parts along each axis.
fn parts() -> vec3<u32> {
    var parts = select(vec3<u32>(1u), params.stride.xyz, params.kernel.xyz > vec3<u32>(1u));
    if FOLD == 1u {
        parts.z = 1u;
    }
    return parts;
}

// Depth, height and width of a tap by its number among those of a block of channels.
fn tap_at(tap: u32) -> vec3<u32> {
    if FOLD == 1u {
        return vec3<u32>(tap / params.kernel.y, tap % params.kernel.y, 0u);
    }
    let area = params.kernel.y * params.kernel.z;
    return vec3<u32>(tap / area, tap % area / params.kernel.z, tap % params.kernel.z);
}

// How many packed pixels lie between that which the first tap reads and that of a step: a block of channels, which is stored in
// so many halves, and a tap.
fn pixels_to(step: u32, halves: u32) -> u32 {
    let reach = tap_at(step % params.taps) * params.dilation.xyz;
    let parts = parts();
    let part = reach % parts;
    let at = reach / parts;
    let shift = (at.x * params.grid.y + at.y) * params.grid.z + at.z;
    let number = (part.x * parts.y + part.y) * parts.z + part.z;
    return (step / params.taps) * halves * params.pixels + number * params.part + shift;
}
