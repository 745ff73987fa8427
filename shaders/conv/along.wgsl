// What windows hold for outputs along an axis. Requires image, tap_step, first_tap.

// The window of an output that has none: with those in front of it, it is behind the last one.
const NO_WINDOW: u32 = 0x80000000u;

// The first tap of an output that reads something, and the window that it reads: in front of the first one it wraps. `step` taps
// behind, an output reads a window `back` in front.
fn place(start: u32, stride: u32, dilation: u32, step: u32, count: u32) -> vec2<u32> {
    // Numbers from 2^31 are negative ones: every tap reads in front of the first window.
    if start >= NO_WINDOW {
        return vec2<u32>(0u, NO_WINDOW);
    }
    if dilation == 1u {
        return vec2<u32>(start % stride, start / stride);
    }
    let tap = first_tap(start, stride, dilation, min(step, count));
    if tap == NOWHERE {
        return vec2<u32>(0u, NO_WINDOW);
    }
    return vec2<u32>(tap, u32(i32(start - tap * dilation) / i32(stride)));
}

fn back(step: vec3<u32>) -> vec3<u32> {
    return select(step * params.dilation.xyz / params.stride.xyz, vec3<u32>(1u), params.dilation.xyz == vec3<u32>(1u));
}

fn images(at: vec4<u32>) -> vec4<acc> {
    return vec4<acc>(image(at.x), image(at.y), image(at.z), image(at.w));
}

// For four outputs of a row with their first taps and windows: `line` is where the windows begin that may hold something for them.
// Sums that were left in layers are added.
fn along(line: u32, taps: vec4<u32>, windows: vec4<u32>, step: u32, back: u32) -> vec4<acc> {
    var sums = vec4<acc>();
    var tap = taps;
    var x = windows;
    for (var first = 0u; first < params.kernel.z; first += step) {
        let there = (tap < vec4<u32>(params.kernel.z)) & (x < vec4<u32>(params.extent.z));
        // All are read at once: what is not there reads the first one.
        var at = line + select(vec4<u32>(), tap * params.w_steps.z + x * params.x_steps.z, there);
        sums += select(vec4<acc>(), images(at), there);
        for (var layer = 1u; layer < params.groups; layer++) {
            at += params.x_channel;
            sums += select(vec4<acc>(), images(at), there);
        }
        tap += step;
        x -= back;
    }
    return sums;
}
