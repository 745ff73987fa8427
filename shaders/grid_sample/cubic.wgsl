// Mode part: four neighbours along height and width by Keys' cubic with SHAPE = -0.75, each padded on its own. An element without
// weight has no part, not even as infinity.
// Accuracy: 264 ε n max|x| for extents up to n, because places are computed in f32, then one rounding to the dtype.

const SHAPE: f32 = -0.75;

// Weights of the elements at -1, 0, 1, 2 for a place t behind the element at 0.
fn cubic_weights(t: f32) -> vec4<f32> {
    let u = 1.0 - t;
    return vec4<f32>(
        ((SHAPE * (t + 1.0) - 5.0 * SHAPE) * (t + 1.0) + 8.0 * SHAPE) * (t + 1.0) - 4.0 * SHAPE,
        ((SHAPE + 2.0) * t - (SHAPE + 3.0)) * t * t + 1.0,
        ((SHAPE + 2.0) * u - (SHAPE + 3.0)) * u * u + 1.0,
        ((SHAPE * (u + 1.0) - 5.0 * SHAPE) * (u + 1.0) + 8.0 * SHAPE) * (u + 1.0) - 4.0 * SHAPE,
    );
}

fn sample(place: Place) -> out_elem {
    let first = floor(place.at);
    let rows = cubic_weights(place.at.y - first.y);
    let columns = cubic_weights(place.at.z - first.z);
    var sum = 0.0;
    for (var row = 0u; row < 4u; row++) {
        let y = padded(first.y + f32(row) - 1.0, 1u);
        var line = 0.0;
        for (var column = 0u; column < 4u; column++) {
            let neighbour = vec3<f32>(0.0, y, padded(first.z + f32(column) - 1.0, 2u));
            if rows[row] != 0.0 && columns[column] != 0.0 && is_inside(neighbour) {
                line += columns[column] * element_at(place.base, neighbour);
            }
        }
        sum += rows[row] * line;
    }
    return sum;
}
