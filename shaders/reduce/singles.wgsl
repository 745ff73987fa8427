// Access part: four elements of a row, SPACING places from each other, by a load each, for rows that lie in memory in any way.
// Requires: load_value (value part); reduced_offset, four_places.

// Those from place r on, which are all before the end of the row.
fn row4(base: u32, r: u32) -> vec4<elem> {
    if REDUCED == 1u {
        let axis = min(KEPT, 7u);
        let step = params.strides[axis / 4u][axis % 4u];
        let at = vec4<u32>(base) + four_places(r) * step;
        return vec4<elem>(load_value(at.x), load_value(at.y), load_value(at.z), load_value(at.w));
    }
    let at = four_places(r);
    return vec4<elem>(
        load_value(base + reduced_offset(at.x)),
        load_value(base + reduced_offset(at.y)),
        load_value(base + reduced_offset(at.z)),
        load_value(base + reduced_offset(at.w)),
    );
}

// Those from place r on; past the end, the last element.
fn row4_tail(base: u32, r: u32, end: u32) -> vec4<elem> {
    let at = min(four_places(r), vec4<u32>(end - 1u));
    return vec4<elem>(
        load_value(base + reduced_offset(at.x)),
        load_value(base + reduced_offset(at.y)),
        load_value(base + reduced_offset(at.z)),
        load_value(base + reduced_offset(at.w)),
    );
}
