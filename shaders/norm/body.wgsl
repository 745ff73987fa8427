// Computes: out = (x - shift) * factor, then scaled and moved by the affine part, row by row, in f32. The shift is the row's mean
//           (CENTER = 1) or 0, the factor comes from the sum of squared distances from the shift, which is found in a pass of its own.
// Bindings: params, a (any strides; declared by the value part), out (contiguous rows), those of the affine part.
// Grid: ceil(outputs / ROWS) workgroups, folded; a row is one position of the kept axes.
// Requires: load_value (value part), factor_of (factor part), affine (affine part).
// Accuracy: (20 + 2 √n) ε (|out| + 4), with CENTER = 1 also 2 (4 + √n) ε (1 + |y|) max|row| / deviation, y being the normalized element:
//           for rows of n elements with weights and biases up to 2, then one rounding to the dtype.

override CENTER: u32 = 1u;

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

var<workgroup> partial_sum: array<f32, WG>;

// The sum of `v` over the lanes of a row, for all of them.
fn over_lanes(lid: u32, lane: u32, v: f32) -> f32 {
    partial_sum[lid] = v;
    workgroupBarrier();
    for (var s = LANES / 2u; s > 0u; s /= 2u) {
        if lane < s {
            partial_sum[lid] += partial_sum[lid + s * LANE_STEP];
        }
        workgroupBarrier();
    }
    let total = partial_sum[lid - lane * LANE_STEP];
    workgroupBarrier();
    return total;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = (lid / ROW_STEP) % ROWS;
    let lane = (lid / LANE_STEP) % LANES;
    let output = folded(group, groups) * ROWS + row;
    let live = output < params.outputs;
    var base = 0u;
    if live {
        base = kept_offset(output);
    }

    var shift = 0.0;
    if CENTER == 1u {
        var total = 0.0;
        if live {
            for (var r = lane; r < params.len; r += LANES) {
                total += load_value(base + reduced_offset(r));
            }
        }
        shift = over_lanes(lid, lane, total) / f32(params.len);
    }
    var squares = 0.0;
    if live {
        for (var r = lane; r < params.len; r += LANES) {
            let distance = load_value(base + reduced_offset(r)) - shift;
            squares += distance * distance;
        }
    }
    let factor = factor_of(over_lanes(lid, lane, squares));

    if live {
        let out_base = params.out_offset + output * params.len;
        let first = (output % params.period) * params.step;
        for (var r = lane; r < params.len; r += LANES) {
            let y = (load_value(base + reduced_offset(r)) - shift) * factor;
            store1(out_base + r, affine(y, first + r / params.span));
        }
    }
}
