// Computes: out = (x - shift) * factor, then scaled and moved by the affine part, row by row, in f32. The shift is the row's mean
//           (CENTER = 1) or 0, the factor comes from the sum of squared distances from the shift. Each row is read once.
// Bindings: params, a (any strides; declared by the value part), out (contiguous rows; declared by the store part), those of the
//           affine part.
// Grid: ceil(outputs / ROWS) workgroups, folded; a row is one position of the kept axes.
// Requires: whole_row, sum_registers; over_lanes of a sum; factor_of (factor part), divide_f32, affine4 (affine part), base_of, put4, put_rest (store part).
// Accuracy: (20 + 2 √n) ε (|out| + 4), with CENTER = 1 also 2 (4 + √n) ε (1 + |y|) max|row| / deviation, y being the normalized element:
//           for rows of n elements with weights and biases up to 2, then one rounding to the dtype.

override CENTER: u32 = 1u;

fn squares(x: vec4<f32>, shift: f32, h: u32, lane: u32) -> vec4<f32> {
    let distance = select(vec4<f32>(0.0), x - shift, inside(h, lane));
    return distance * distance;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = (lid / ROW_STEP) % ROWS;
    let lane = (lid / LANE_STEP) % LANES;
    let first_row = folded(group, groups) * ROWS;
    let output = first_row + row;
    // What is past the last row computes it once more.
    let base = kept_offset(min(output, params.outputs - 1u));
    let x = whole_row(base, lane, 0.0);

    var shift = 0.0;
    if CENTER == 1u {
        // Rounded as a quotient is: the mean of equal numbers is that number, and no compiler makes the quotient part of a
        // fused multiply-add.
        shift = divide_f32(over_lanes(lid, lane, sum_registers(x)), f32(params.len));
    }
    var s: Registers;
    s[0] = squares(x[0], shift, 0u, lane);
    if REGISTERS > 1u {
        s[1] = squares(x[1], shift, 1u, lane);
    }
    if REGISTERS > 2u {
        s[2] = squares(x[2], shift, 2u, lane);
    }
    if REGISTERS > 3u {
        s[3] = squares(x[3], shift, 3u, lane);
    }
    if REGISTERS > 4u {
        s[4] = squares(x[4], shift, 4u, lane);
    }
    if REGISTERS > 5u {
        s[5] = squares(x[5], shift, 5u, lane);
    }
    if REGISTERS > 6u {
        s[6] = squares(x[6], shift, 6u, lane);
    }
    if REGISTERS > 7u {
        s[7] = squares(x[7], shift, 7u, lane);
    }
    let factor = factor_of(over_lanes(lid, lane, sum_registers(s)));

    if output < params.outputs {
        let out_base = base_of(first_row, row, 1u);
        let first = (output % params.period) * params.step;
        put4(out_base, place(0u, lane), 1u, affine4((x[0] - shift) * factor, first, place(0u, lane)));
        if REGISTERS > 1u {
            put4(out_base, place(1u, lane), 1u, affine4((x[1] - shift) * factor, first, place(1u, lane)));
        }
        if REGISTERS > 2u {
            put4(out_base, place(2u, lane), 1u, affine4((x[2] - shift) * factor, first, place(2u, lane)));
        }
        if REGISTERS > 3u {
            put4(out_base, place(3u, lane), 1u, affine4((x[3] - shift) * factor, first, place(3u, lane)));
        }
        if REGISTERS > 4u {
            put4(out_base, place(4u, lane), 1u, affine4((x[4] - shift) * factor, first, place(4u, lane)));
        }
        if REGISTERS > 5u {
            put4(out_base, place(5u, lane), 1u, affine4((x[5] - shift) * factor, first, place(5u, lane)));
        }
        if REGISTERS > 6u {
            put4(out_base, place(6u, lane), 1u, affine4((x[6] - shift) * factor, first, place(6u, lane)));
        }
        if REGISTERS > 7u {
            put4(out_base, place(7u, lane), 1u, affine4((x[7] - shift) * factor, first, place(7u, lane)));
        }
    }
    put_rest(first_row, lid);
}
