// Shared by what packs a convolution: elements of packed pixels and of packed filters. Requires image, filter_tap, parts.

// A packed pixel: its image, where it is, and the element of its first channel.
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
    let at = vec3<u32>(planes % params.grid.x, rows % params.grid.y, rest % params.grid.z) * params.stride.xyz
        + part - params.pad.xyz;
    var inside = n < params.images && all(at.xy < params.extent.xy);
    var first = params.x_offset + n * params.x_batch + group * params.channels * params.x_channel
        + at.x * params.x_steps.x + at.y * params.x_steps.y;
    if FOLD == 0u {
        inside = inside && at.z < params.extent.z;
        first += at.z * params.x_steps.z;
    }
    return Pixel(n, at, inside, first);
}

// An element of a pixel: with FOLD of (tap along the width, channel), else of a channel; 0 in the padding.
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

// Where a filter begins.
fn filter_at(group: u32, row: u32) -> u32 {
    return params.w_offset + group * params.w_group + row * params.w_filter;
}

// The element of a filter at k, counted in (block of `depth` channels, tap, channel).
fn weight(first: u32, k: u32, depth: u32) -> acc {
    let step = k / depth;
    var tap = tap_at(step % params.taps);
    var channel = step / params.taps * depth + k % depth;
    var inside = channel < params.channels;
    if FOLD == 1u {
        tap.z = channel / params.channels;
        channel %= params.channels;
        inside = tap.z < params.kernel.z;
    }
    if !inside {
        return acc();
    }
    return filter_tap(first + channel * params.w_channel + tap.x * params.w_steps.x + tap.y * params.w_steps.y
        + tap.z * params.w_steps.z);
}
