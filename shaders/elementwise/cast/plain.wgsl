// WGSL's value conversion: exact, wrapping or rounding to nearest; to bool it is x != 0.

fn apply(x: elem) -> out_elem {
    return out_elem(x);
}
