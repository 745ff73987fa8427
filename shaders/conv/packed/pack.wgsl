// Computes: both operands of a convolution as matrix units take them, as f16: images with their padding, of each pixel a block of channels together; filters in lines along (block, tap, channel); and where each tap of each block reads.
// Bindings: params, a = x, b = w, out_0 (filters), out_1 (images), out_2 (pixels from the first tap to each).
// Grid: workgroups of 256 invocations, folded: groups * blocks * ceil(pixels * LANES / 256) for images, then one invocation for 8 elements of a filter, then one for each step along k.
// Requires: image, filter_tap, pair (pack part), tap_at, parts, pixels_to, folded.
// Accuracy: exact.

// Channels of a block.
override DEPTH: u32 = 32u;
// 1: neighbouring invocations have neighbouring channels of a pixel; 0: neighbouring pixels, of each a whole block.
override BY_CHANNELS: u32 = 0u;
// Invocations of a pixel.
override LANES: u32 = BY_CHANNELS * DEPTH / 8u + (1u - BY_CHANNELS);

@group(0) @binding(3) var<storage, read_write> out_0: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> out_1: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> out_2: array<u32>;

// A packed pixel: the image, and the elements of its first channel.
struct Pixel {
    image: u32,
    at: vec3<u32>,
    inside: bool,
    first: u32,
}

fn pixel(group: u32, q: u32) -> Pixel {
    let rest = q % params.part;
    let parts = parts();
    let number = q / params.part;
    let part = vec3<u32>(number / (parts.y * parts.z), number / parts.z % parts.y, number % parts.z);
    let rows = rest / params.grid.z;
    let planes = rows / params.grid.y;
    let n = planes / params.grid.x;
    let stride = vec3<u32>(params.stride.xyz);
    let at = vec3<u32>(planes % params.grid.x, rows % params.grid.y, rest % params.grid.z) * stride + part - params.pad.xyz;
    var inside = n < params.images && all(at.xy < params.extent.xy);
    var first = params.x_offset + n * params.x_batch + group * params.channels * params.x_channel
        + at.x * params.x_steps.x + at.y * params.x_steps.y;
    if FOLD == 0u {
        inside = inside && at.z < params.extent.z;
        first += at.z * params.x_steps.z;
    }
    return Pixel(n, at, inside, first);
}

// An element of a pixel: with FOLD (tap along the width, channel), else the channel.
fn element(from_pixel: Pixel, channel: u32) -> acc {
    if FOLD == 1u {
        let tap = channel / params.channels;
        let x = from_pixel.at.z + tap * params.dilation.z;
        if !from_pixel.inside || tap >= params.kernel.z || x >= params.extent.z {
            return acc();
        }
        return image(from_pixel.first + channel % params.channels * params.x_channel + x * params.x_steps.z);
    }
    if !from_pixel.inside || channel >= params.channels {
        return acc();
    }
    return image(from_pixel.first + channel * params.x_channel);
}

// The same of a filter whose tap (0, 0, 0) of the first channel is at `first`.
fn weight(first: u32, tap: vec3<u32>, channel: u32) -> acc {
    var c = channel;
    var x = tap.z;
    var inside = c < params.channels;
    if FOLD == 1u {
        c = channel % params.channels;
        x = channel / params.channels;
        inside = x < params.kernel.z;
    }
    if !inside {
        return acc();
    }
    return filter_tap(first + c * params.w_channel + tap.x * params.w_steps.x + tap.y * params.w_steps.y + x * params.w_steps.z);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let per_block = (params.pixels * LANES + WG - 1u) / WG;
    let of_images = params.batch * params.blocks * per_block;
    if id < of_images {
        let block = id / per_block;
        let lane = id % per_block * WG + lid;
        let q = lane / LANES;
        if q < params.pixels {
            let here = pixel(block / params.blocks, q);
            let channel = block % params.blocks * DEPTH;
            let to = (block * params.pixels + q) * (DEPTH / 8u);
            let from_channel = lane % LANES * 8u;
            for (var i = from_channel; i < from_channel + DEPTH / LANES; i += 8u) {
                let c = channel + i;
                out_1[to + i / 8u] = vec4<u32>(
                    pair(element(here, c), element(here, c + 1u)),
                    pair(element(here, c + 2u), element(here, c + 3u)),
                    pair(element(here, c + 4u), element(here, c + 5u)),
                    pair(element(here, c + 6u), element(here, c + 7u)),
                );
            }
        }
        return;
    }
    let number = (id - of_images) * WG + lid;
    let of_filters = params.batch * params.m * (params.k / 8u);
    if number < of_filters {
        let line = number / (params.k / 8u);
        let k = number % (params.k / 8u) * 8u;
        let first = params.w_offset + line / params.m * params.w_group + line % params.m * params.w_filter;
        let step = k / DEPTH;
        let tap = tap_at(step % params.taps);
        let c = step / params.taps * DEPTH + k % DEPTH;
        out_0[number] = vec4<u32>(
            pair(weight(first, tap, c), weight(first, tap, c + 1u)),
            pair(weight(first, tap, c + 2u), weight(first, tap, c + 3u)),
            pair(weight(first, tap, c + 4u), weight(first, tap, c + 5u)),
            pair(weight(first, tap, c + 6u), weight(first, tap, c + 7u)),
        );
    } else if number - of_filters < params.k / DEPTH {
        out_2[number - of_filters] = pixels_to(number - of_filters);
    }
}
