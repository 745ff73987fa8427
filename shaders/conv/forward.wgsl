// Walk part: where a convolution reads. Tap t (times the dilation) of output o reads input o * stride - pad + t.

fn first(o: vec4<u32>, stride: vec4<u32>, pad: vec4<u32>) -> vec4<u32> {
    return o * stride - pad;
}

// Outside [0, extent) also in front, where it wraps: one unsigned comparison tests both edges.
fn source(start: u32, tap: u32, stride: u32) -> u32 {
    return start + tap;
}

// Every tap of an output may read something.
fn tap_step(stride: u32, dilation: u32) -> u32 {
    return 1u;
}

fn first_tap(start: u32, stride: u32, dilation: u32, count: u32) -> u32 {
    return 0u;
}
