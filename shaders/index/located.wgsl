// The element of data that position i and its index name, and the element of the updates. Needs b, the indices.

fn located(i: u32) -> vec2<u32> {
    let at = walked(i);
    var place = at.x;
    for (var m = 0u; m < COMPONENTS; m++) {
        let axis = target_axis(m);
        place += position(b[at.y + m * params.component_stride], axis.x) * axis.y;
    }
    return vec2<u32>(place, at.z);
}
