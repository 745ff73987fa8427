// 2^x for results of 16 bits. Requires functions/narrow.wgsl.

fn apply(x: elem) -> elem {
    let y = exp2_of_twice(min(max(x, -152.0), 128.0) * 0.5);
    return select(select(y, inf_f32(), x >= 128.0), x, is_nan(x));
}
