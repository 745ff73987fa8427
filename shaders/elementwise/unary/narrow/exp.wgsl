// e^x for results of 16 bits. Requires functions/narrow.wgsl.

fn apply(x: elem) -> elem {
    let y = exp2_of_twice(min(max(x, -104.0), 89.0) * 0.72134752);
    return select(select(y, inf_f32(), x > 88.7228394), x, is_nan(x));
}
