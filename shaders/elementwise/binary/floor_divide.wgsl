// floor(x / y), from the exact remainder, so that no quotient just below a whole number is rounded up to it; infinite or
// NaN for y == 0, NaN for infinite x. Requires functions/fmod.wgsl, functions/divide.wgsl, functions/enlarge.wgsl.

fn apply(x: elem, y: elem) -> elem {
    let size_x = bitcast<u32>(x) & 0x7fffffffu;
    let size_y = bitcast<u32>(y) & 0x7fffffffu;
    if size_y == 0u {
        return divide_f32(x, y);
    }
    var a = x;
    var b = y;
    // Below 2^-60 differences may be subnormal: with both operands 2^64 times as large the quotient is the same.
    if max(size_x, size_y) < 0x21800000u {
        a = enlarged(x);
        b = enlarged(y);
    }
    let rest = fmod_f32(a, b);
    if is_nan(rest) {
        return rest;
    }
    let inexact = (bitcast<u32>(rest) & 0x7fffffffu) != 0u;
    let opposite = ((bitcast<u32>(rest) ^ bitcast<u32>(b)) >> 31u) == 1u;
    var quotient = divide_f32(a - rest, b);
    // The whole number that the quotient stands for.
    let below = floor(quotient);
    quotient = select(below, below + 1.0, quotient - below > 0.5);
    if inexact && opposite {
        quotient -= 1.0;
    }
    if (bitcast<u32>(quotient) & 0x7fffffffu) == 0u {
        return bitcast<f32>((bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u);
    }
    return quotient;
}
