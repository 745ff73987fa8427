// Normal floats of mean 0 and variance 1, by Box and Muller's method: two from two words.
// Requires: functions/log.wgsl, functions/trig.wgsl.
// Accuracy: 4e-6, then one rounding to the dtype.

fn pair(size: u32, direction: u32) -> vec2<f32> {
    // (0, 1], so that the logarithm is finite.
    let parts = log_parts(f32((size >> 8u) + 1u) * 5.9604644775390625e-8);
    let log_size = (parts.f + (parts.y - 2.12194440e-4 * parts.e)) + 0.693359375 * parts.e;
    let radius = sqrt(-2.0 * min(log_size, 0.0));
    // The nearest quadrant, and the rest of the turn as a fraction of 2^30 to one.
    let quadrant = (direction + 0x20000000u) >> 30u;
    let rest = bitcast<i32>(direction - (quadrant << 30u));
    let r = f32(rest) * 1.4629180792671596e-9;
    let cosine = sin_angle(Angle(r, quadrant + 1u));
    return radius * vec2<f32>(cosine, sin_angle(Angle(r, quadrant)));
}

fn drawn(words: vec4<u32>) -> vec4<out_elem> {
    return vec4<f32>(pair(words.x, words.y), pair(words.z, words.w));
}
