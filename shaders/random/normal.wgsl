// Normal floats of mean 0 and variance 1, by Box and Muller's method: two from two words.
// Requires: functions/log.wgsl, functions/trig.wgsl.
// Accuracy: 4e-6, then one rounding to the dtype.

fn pair(size: u32, direction: u32) -> vec2<f32> {
    // (0, 1], so that the logarithm is finite.
    let parts = log_parts_normal(f32((size >> 8u) + 1u) * 5.9604644775390625e-8);
    let log_size = (parts.f + (parts.y - 2.12194440e-4 * parts.e)) + 0.693359375 * parts.e;
    let radius = sqrt(-2.0 * min(log_size, 0.0));
    // The nearest quadrant, in the two uppermost bits, and the rest of the turn as a fraction of 2^30 to one.
    let turn = direction + 0x20000000u;
    let r = f32(bitcast<i32>(turn & 0x3fffffffu) - 0x20000000) * 1.4629180792671596e-9;
    let near = vec2<f32>(cos_reduced(r), sin_reduced(r));
    let size_of = select(near, near.yx, (turn & 0x40000000u) != 0u);
    let sign = vec2<u32>(turn + 0x40000000u, turn) & vec2<u32>(0x80000000u);
    return radius * bitcast<vec2<f32>>(bitcast<vec2<u32>>(size_of) ^ sign);
}

fn drawn(words: vec4<u32>) -> vec4<out_elem> {
    return vec4<f32>(pair(words.x, words.y), pair(words.z, words.w));
}
