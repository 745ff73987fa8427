// Results of four elements of a row, of which the weights, the greatest element and what shares are computed with are known.
// Requires: share (result part).

fn results(x: vec4<f32>, w: vec4<f32>, greatest: f32, rest: f32, finite: bool) -> vec4<f32> {
    let y = vec4<f32>(
        share(x.x, w.x, greatest, rest),
        share(x.y, w.y, greatest, rest),
        share(x.z, w.z, greatest, rest),
        share(x.w, w.w, greatest, rest),
    );
    return select(vec4<f32>(nan_f32()), y, finite);
}

fn weights(x: vec4<f32>, greatest: f32) -> vec4<f32> {
    return vec4<f32>(weight(x.x, greatest), weight(x.y, greatest), weight(x.z, greatest), weight(x.w, greatest));
}
