// Access part: four neighbours of a row by a load each, for rows that lie in memory in any way.
// Requires: load_value (value part); reduced_offset.

// Those from place r on, which are all before the end of the row.
fn row4(base: u32, r: u32) -> vec4<elem> {
    if REDUCED == 1u {
        let axis = min(KEPT, 7u);
        let step = params.strides[axis / 4u][axis % 4u];
        let at = base + r * step;
        return vec4<elem>(load_value(at), load_value(at + step), load_value(at + 2u * step), load_value(at + 3u * step));
    }
    return vec4<elem>(
        load_value(base + reduced_offset(r)),
        load_value(base + reduced_offset(r + 1u)),
        load_value(base + reduced_offset(r + 2u)),
        load_value(base + reduced_offset(r + 3u)),
    );
}

// Those from place r on; past the end, the last element.
fn row4_tail(base: u32, r: u32, end: u32) -> vec4<elem> {
    let last = end - 1u;
    return vec4<elem>(
        load_value(base + reduced_offset(r)),
        load_value(base + reduced_offset(min(r + 1u, last))),
        load_value(base + reduced_offset(min(r + 2u, last))),
        load_value(base + reduced_offset(min(r + 3u, last))),
    );
}
