// Window part: the p-norm of the elements; padding counts as 0. Requires the pow snippet (`apply`).
// Accuracy: 40 ε |out|, then one rounding to the dtype.

alias acc = f32;

fn start() -> acc {
    return 0.0;
}

fn combine(x: acc, y: elem, at: u32) -> acc {
    let size = abs(y);
    if params.power == 1.0 {
        return x + size;
    }
    if params.power == 2.0 {
        return x + size * size;
    }
    return x + apply(size, params.power);
}

fn finish(v: acc, count: u32) -> out_elem {
    if params.power == 1.0 {
        return v;
    }
    if params.power == 2.0 {
        return sqrt(v);
    }
    return apply(v, 1.0 / params.power);
}
