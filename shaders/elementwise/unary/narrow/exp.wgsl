// e^x for results of 16 bits. Requires functions/narrow.wgsl.

fn apply(x: elem) -> elem {
    let y = exp2_of_twice(min(89.0, max(-104.0, x)) * 0.72134752);
    return select(y, x, needs_nan(x));
}
