// floor(x / y), from the exact remainder, so that no quotient just below a whole number is rounded up to it; infinite or
// NaN for y == 0, NaN for infinite x. Requires functions/fmod.wgsl, functions/divide.wgsl.

fn apply(x: elem, y: elem) -> elem {
    if (bitcast<u32>(y) & 0x7fffffffu) == 0u {
        return divide_f32(x, y);
    }
    let rest = fmod_f32(x, y);
    if is_nan(rest) {
        return rest;
    }
    let inexact = (bitcast<u32>(rest) & 0x7fffffffu) != 0u;
    let apart = ((bitcast<u32>(rest) ^ bitcast<u32>(y)) >> 31u) == 1u;
    var quotient = divide_f32(x - rest, y);
    // The whole number that the quotient stands for.
    let below = floor(quotient);
    quotient = select(below, below + 1.0, quotient - below > 0.5);
    if inexact && apart {
        quotient -= 1.0;
    }
    if (bitcast<u32>(quotient) & 0x7fffffffu) == 0u {
        return bitcast<f32>((bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u);
    }
    return quotient;
}
