// State part: all keys of a row were seen, and its sums are divided. Requires emit4 (result part).

fn finish(share: Share, row: u32, column: u32, sums: vec4<f32>, top: f32, total: f32) {
    var y = vec4<f32>(select(nan_f32(), 0.0, has(ZERO)));
    if bitcast<u32>(top) != HIDDEN {
        y = sums / total;
    }
    let head = share.head0 + row / params.queries;
    emit4((share.batch * params.heads + head) * params.queries + row % params.queries, column, y);
}
