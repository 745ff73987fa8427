// 2^x for results of 16 bits. Requires functions/narrow.wgsl.

fn apply(x: elem) -> elem {
    let y = exp2_of_twice(min(128.0, max(-152.0, x)) * 0.5);
    return select(y, x, needs_nan(x));
}
