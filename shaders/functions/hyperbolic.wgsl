// e^x / 2 for x >= 0, which is finite for a little longer than e^x. Requires functions/exp.wgsl.

fn exp_half_f32(x: f32) -> f32 {
    if x > 89.4159851 {
        return inf_f32();
    }
    let k = floor(x * 1.44269504 + 0.5);
    let r = (x - k * 0.693359375) + k * 2.12194440e-4;
    return scale_by_power(exp_reduced(r), k - 1.0);
}
