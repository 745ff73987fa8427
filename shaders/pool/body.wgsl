// Computes: one pooling window per invocation, or the taps of it that are this dispatch's.
// Bindings: params, a (declared by the row part), out (declared by the output part), those of the state part.
// Grid: one invocation per output, folded.
// Requires: range_of (range part), start, combine, finish (window part), begun (state part), along (row part), ended (output part).
// Accuracy: that of the window part.

// How many positions of the range lie before `end`. Negative ones wrap to large numbers; they are the padding in front.
fn below(range: Range, end: u32) -> u32 {
    let room = i32(end - range.first);
    if room <= 0 {
        return 0u;
    }
    return min(range.taps, (u32(room) - 1u) / range.step + 1u);
}

// How many positions of the range lie in the unpadded extent, or with include_pad before the padded end.
fn counted(range: Range, axis: u32) -> u32 {
    if params.include_pad == 1u {
        return below(range, params.extent[axis] + params.pad_end[axis]);
    }
    return below(range, params.extent[axis]) - below(range, 0u);
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
        var v = begun(id);
        for (var kd = params.first_tap.x; kd < min(depth.taps, params.end_tap.x); kd++) {
            // Outside [0, extent) also when it wraps: one unsigned comparison tests both edges.
            let z = depth.first + kd * depth.step;
            if z < params.extent.x {
                for (var kh = params.first_tap.y; kh < min(height.taps, params.end_tap.y); kh++) {
                    let y = height.first + kh * height.step;
                    if y < params.extent.y {
                        v = along(v, base + z * params.steps.x + y * params.steps.y, width, (z * params.extent.y + y) * params.extent.z);
                    }
                }
            }
        }
        ended(id, v, counted(depth, 0u) * counted(height, 1u) * counted(width, 2u));
    }
}
