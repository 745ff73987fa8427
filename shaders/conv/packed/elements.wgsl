// Shared by what packs a convolution: packed pixels, and elements of packed filters. Requires filter_tap, parts, tap_at.

// A packed pixel: its image, where it is, and the element of its first channel.
struct Pixel {
    image: u32,
    at: vec3<u32>,
    inside: bool,
    first: u32,
}

fn pixel(group: u32, q: u32) -> Pixel {
    let parts = parts();
    var rest = q;
    var part = vec3<u32>();
    // Divisions are most of what packing costs.
    if any(parts > vec3<u32>(1u)) {
        let number = q / params.part;
        rest = q % params.part;
        part = vec3<u32>(number / (parts.y * parts.z), number / parts.z % parts.y, number % parts.z);
    }
    let rows = rest / params.grid.z;
    let planes = rows / params.grid.y;
    var n = planes;
    var depth = 0u;
    if VOLUME == 1u {
        n = planes / params.grid.x;
        depth = planes % params.grid.x;
    }
    let at = vec3<u32>(depth, rows % params.grid.y, rest % params.grid.z) * params.stride.xyz + part - params.pad.xyz;
    var inside = n < params.images && all(at.xy < params.extent.xy);
    var first = params.x_offset + n * params.x_batch + group * params.channels * params.x_channel
        + at.x * params.x_steps.x + at.y * params.x_steps.y;
    if FOLD == 0u {
        inside = inside && at.z < params.extent.z;
        first += at.z * params.x_steps.z;
    }
    return Pixel(n, at, inside, first);
}

// Where a filter begins.
fn filter_at(group: u32, row: u32) -> u32 {
    return params.w_offset + group * params.w_group + row * params.w_filter;
}

// Eight neighbours of a pixel or a filter.
struct Eight {
    low: vec4<acc>,
    high: vec4<acc>,
}

// The tap along the width and the channel that count as a channel with FOLD.
fn unfolded(channel: u32) -> vec2<u32> {
    return vec2<u32>(channel / params.channels, channel % params.channels);
}

// Those of the next one.
fn behind(at: vec2<u32>) -> vec2<u32> {
    if at.y + 1u == params.channels {
        return vec2<u32>(at.x + 1u, 0u);
    }
    return vec2<u32>(at.x, at.y + 1u);
}

fn weight(first: u32, channel: u32) -> acc {
    if channel >= params.channels {
        return acc();
    }
    return filter_tap(first + channel * params.w_channel);
}

fn unfolded_weight(first: u32, at: vec2<u32>) -> acc {
    if at.x >= params.kernel.z {
        return acc();
    }
    return filter_tap(first + at.x * params.w_steps.z + at.y * params.w_channel);
}

// Elements of a filter from k on, a multiple of eight, counted in (block of `depth` channels, tap, channel).
fn weights(first: u32, k: u32, depth: u32) -> Eight {
    let step = k / depth;
    let tap = tap_at(step % params.taps);
    let channel = step / params.taps * depth + k % depth;
    let from_tap = first + tap.x * params.w_steps.x + tap.y * params.w_steps.y + tap.z * params.w_steps.z;
    if FOLD == 1u {
        let at_0 = unfolded(channel);
        let at_1 = behind(at_0);
        let at_2 = behind(at_1);
        let at_3 = behind(at_2);
        let at_4 = behind(at_3);
        let at_5 = behind(at_4);
        let at_6 = behind(at_5);
        let at_7 = behind(at_6);
        return Eight(
            vec4<acc>(
                unfolded_weight(from_tap, at_0),
                unfolded_weight(from_tap, at_1),
                unfolded_weight(from_tap, at_2),
                unfolded_weight(from_tap, at_3),
            ),
            vec4<acc>(
                unfolded_weight(from_tap, at_4),
                unfolded_weight(from_tap, at_5),
                unfolded_weight(from_tap, at_6),
                unfolded_weight(from_tap, at_7),
            ),
        );
    }
    return Eight(
        vec4<acc>(
            weight(from_tap, channel),
            weight(from_tap, channel + 1u),
            weight(from_tap, channel + 2u),
            weight(from_tap, channel + 3u),
        ),
        vec4<acc>(
            weight(from_tap, channel + 4u),
            weight(from_tap, channel + 5u),
            weight(from_tap, channel + 6u),
            weight(from_tap, channel + 7u),
        ),
    );
}
