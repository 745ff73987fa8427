// Computes: one pooling window per invocation.
// Bindings: params, a, out (declared by the output part).
// Grid: one invocation per output, folded.
// Requires: range_of (range part), start, combine, finish (window part), emit (output part).
// Accuracy: that of the window part.

// How many positions of the range lie in the unpadded extent, or with include_pad before the padded end.
fn counted(range: Range, axis: u32) -> u32 {
    let extent = i32(params.extent[axis]);
    let padded = i32(params.extent[axis] + params.pad_end[axis]);
    var n = 0u;
    for (var tap = 0u; tap < range.taps; tap++) {
        // Negative positions wrap to large numbers; they are the padding in front.
        let at = i32(range.first + tap * range.step);
        n += select(0u, 1u, (at >= 0 && at < extent) || (params.include_pad == 1u && at < padded));
    }
    return n;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    if id < params.outputs {
        let position = id % params.plane;
        let image = id / params.plane;
        let area = params.result.y * params.result.z;
        let depth = range_of(position / area, 0u);
        let height = range_of((position % area) / params.result.z, 1u);
        let width = range_of(position % params.result.z, 2u);
        let base = params.offset + (image / params.channels) * params.x_batch + (image % params.channels) * params.x_channel;
        var v = start();
        for (var kd = 0u; kd < depth.taps; kd++) {
            // Outside [0, extent) also when it wraps: one unsigned comparison tests both edges.
            let z = depth.first + kd * depth.step;
            if z < params.extent.x {
                for (var kh = 0u; kh < height.taps; kh++) {
                    let y = height.first + kh * height.step;
                    if y < params.extent.y {
                        for (var kw = 0u; kw < width.taps; kw++) {
                            let x = width.first + kw * width.step;
                            if x < params.extent.z {
                                let i = base + z * params.steps.x + y * params.steps.y + x * params.steps.z;
                                v = combine(v, from_word(a[word_index(i)], i), (z * params.extent.y + y) * params.extent.z + x);
                            }
                        }
                    }
                }
            }
        }
        emit(id, finish(v, counted(depth, 0u) * counted(height, 1u) * counted(width, 2u)));
    }
}
