// Mode part: the nearest element, of two equally near ones the even one: a copy, so for every dtype. Not `round`: HLSL's
// rounds halves away from zero.
// Accuracy: exact, where rounding of the place in f32 does not decide between two elements.

fn sample(place: Place) -> out_elem {
    let at = padded_place(place.at);
    let below = floor(at);
    let rest = at - below;
    let is_odd = (below - 2.0 * floor(below * 0.5)) > vec3<f32>(0.5);
    let is_above = (rest > vec3<f32>(0.5)) | ((rest == vec3<f32>(0.5)) & is_odd);
    let nearest = below + select(vec3<f32>(0.0), vec3<f32>(1.0), is_above);
    if is_inside(nearest) {
        return element_at(place.base, nearest);
    }
    return out_elem();
}
