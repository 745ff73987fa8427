// 1 - erf(x), with all its digits where that is small. Requires functions/exp.wgsl, functions/erfc.wgsl,
// functions/erf.wgsl.

fn apply(x: elem) -> elem {
    if is_nan(x) {
        return x;
    }
    if abs(x) < 0.5 {
        return 1.0 - erf_small(x);
    }
    // Beyond 11 nothing is left.
    let tail = erfc_exact(min(abs(x), 11.0));
    return select(tail, 2.0 - tail, x < 0.0);
}
