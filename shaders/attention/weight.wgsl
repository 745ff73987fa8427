// exp(s - greatest) of a score; 0 for -inf, NaN for NaN and for inf. Requires softmax/exp.wgsl.

fn exp_of(s: f32, greatest: f32) -> f32 {
    if bitcast<u32>(s) == 0xff800000u {
        return 0.0;
    }
    if is_nan(s) || bitcast<u32>(s) == 0x7f800000u || bitcast<u32>(greatest) == 0x7f800000u {
        return nan_f32();
    }
    return exp_nonpositive(s - greatest);
}
