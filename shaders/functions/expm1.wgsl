// e^x - 1 with all digits near 0. Requires functions/exp.wgsl.

fn expm1_f32(x: f32) -> f32 {
    if is_nan(x) || (bitcast<u32>(x) & 0x7fffffffu) == 0u {
        return x;
    }
    if x > 88.7228394 {
        return inf_f32();
    }
    // e^-18 is less than half a unit in the last place of 1.
    if x < -18.0 {
        return -1.0;
    }
    let k = floor(x * 1.44269504 + 0.5);
    let r = (x - k * 0.693359375) + k * 2.12194440e-4;
    if k > 25.0 {
        return scale_by_power(exp_reduced(r), k);
    }
    // 2^k (e^r - 1) + (2^k - 1): both exact but for e^r - 1.
    let power = bitcast<f32>((i32(k) + 127) << 23u);
    return power * expm1_reduced(r) + (power - 1.0);
}
