// Walk part: where a transposed convolution reads. Output o gets tap t (times the dilation) of the input i with
// i * stride - pad + t = o, if there is one.

const NOWHERE: u32 = 0xffffffffu;

fn first(o: vec4<u32>, stride: vec4<u32>, pad: vec4<u32>) -> vec4<u32> {
    return o + pad;
}

fn source(start: u32, tap: u32, stride: u32) -> u32 {
    let at = start - tap;
    // Numbers from 2^31 are negative ones.
    return select(NOWHERE, at / stride, at < 0x80000000u && at % stride == 0u);
}

// How far apart the taps of one output are that read something: those between fall between two inputs.
fn tap_step(stride: u32, dilation: u32) -> u32 {
    if dilation == 1u {
        return stride;
    }
    var divisor = stride;
    var rest = dilation % stride;
    while rest > 0u {
        let next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return stride / divisor;
}

// The first such tap of the first `count`, or none.
fn first_tap(start: u32, stride: u32, dilation: u32, count: u32) -> u32 {
    if dilation == 1u {
        let tap = start % stride;
        return select(NOWHERE, tap, tap < count);
    }
    for (var tap = 0u; tap < count; tap++) {
        if (tap * dilation) % stride == start % stride {
            return tap;
        }
    }
    return NOWHERE;
}
