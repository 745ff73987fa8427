// Mode part: the two neighbours along each axis. An element without weight has no part, not even as infinity.
// Accuracy: 264 ε n max|x| for extents up to n, because places are computed in f32, then one rounding to the dtype.

fn sample(place: Place) -> out_elem {
    let at = padded_place(place.at);
    let first = floor(at);
    let far = at - first;
    let near = vec3<f32>(1.0) - far;
    var sum = 0.0;
    for (var corner = 0u; corner < 8u; corner++) {
        let side = vec3<bool>((corner & 4u) != 0u, (corner & 2u) != 0u, (corner & 1u) != 0u);
        let weights = select(near, far, side);
        let weight = weights.x * weights.y * weights.z;
        let neighbour = first + select(vec3<f32>(0.0), vec3<f32>(1.0), side);
        if weight != 0.0 && is_inside(neighbour) {
            sum += weight * element_at(place.base, neighbour);
        }
    }
    return sum;
}
