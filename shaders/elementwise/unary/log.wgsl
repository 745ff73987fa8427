// The natural logarithm: log(0) is -inf, of a negative number NaN. Requires functions/log.wgsl.

fn apply(x: elem) -> elem {
    return log_f32(x);
}
