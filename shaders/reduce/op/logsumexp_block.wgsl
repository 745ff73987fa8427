// Block part for logsumexp.wgsl: sixteen elements beside the greatest of them. Weights are of the adapter's exp2, which WGSL allows to be
// off by 3 + 2 |x| ulp: what a weight lacks in digits it lacks in size, so that a sum is off by a few ulp.

fn weights4(x: vec4<elem>, greatest: f32) -> f32 {
    // Less than 2^-126 adds nothing to a sum of at least 1.
    let w = exp2(max((x - vec4<f32>(greatest)) * 1.44269504, vec4<f32>(-126.0)));
    return (w.x + w.y) + (w.z + w.w);
}

fn block(x: vec4<elem>, y: vec4<elem>, z: vec4<elem>, w: vec4<elem>) -> acc {
    // `max` may drop a NaN: one is seen by the bits without a sign.
    let magnitude = vec4<u32>(0x7fffffffu);
    let some_bits = max(bitcast<vec4<u32>>(x) & magnitude, bitcast<vec4<u32>>(y) & magnitude);
    let more_bits = max(bitcast<vec4<u32>>(z) & magnitude, bitcast<vec4<u32>>(w) & magnitude);
    let bits = max(some_bits, more_bits);
    if max(max(bits.x, bits.y), max(bits.z, bits.w)) > 0x7f800000u {
        return acc(to_key(nan_f32()), 1.0);
    }
    let some = max(max(x, y), max(z, w));
    let greatest = max(max(some.x, some.y), max(some.z, some.w));
    let top = to_key(greatest);
    if top == LOWEST || top >= HIGHEST {
        return acc(top, 1.0);
    }
    let sum = (weights4(x, greatest) + weights4(y, greatest)) + (weights4(z, greatest) + weights4(w, greatest));
    return acc(top, sum);
}
