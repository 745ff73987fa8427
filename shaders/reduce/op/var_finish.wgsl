// End of the operator part var.wgsl: the variance, or with ROOT = 1 its square root, and the mean. `identity` holds the bits of
// the correction. Requires `apply`: the square root.

override ROOT: u32 = 0u;

fn finish(v: acc) -> out_elem {
    let freedom = f32(v.count) - bitcast<f32>(params.identity);
    var y = nan_f32();
    if v.count > 0u && (freedom > 0.0 || v.spread > 0.0) {
        y = inf_f32();
        if freedom > 0.0 {
            y = v.spread / freedom;
        }
        if ROOT == 1u {
            y = apply(y);
        }
    }
    return y;
}

fn finish_mean(v: acc) -> out_elem {
    var y = v.mean;
    if v.count == 0u {
        y = nan_f32();
    }
    return y;
}
