// Computes: out = exp(x - max) / sum(exp(x - max)), or its logarithm, along one axis, in f32. A row whose maximum is NaN, +inf or -inf is all NaN.
//           Each row is read once.
// Bindings: params, a (any strides; declared by the value part), out (contiguous; `count` is the number of elements after the axis;
//           declared by the store part).
// Grid: ceil(outputs / ROWS) workgroups, folded; a row is one position of the other axes.
// Requires: whole_row, sum_registers; over_lanes of a sum; weights, rest_of, results; to_key, from_key; base_of, put4, put_rest (store part). params.identity is the key of -inf.
// Accuracy: (8 + 2 √n) ε of the share for rows of n elements, 2^-14 of it where the dtype has 16 bits, then one rounding to the
//           dtype; logarithms (12 + 2 √n + 4 max|x|) ε.

var<workgroup> partial_key: array<key, WG>;
var<workgroup> partial_keys: array<key, WG>;

// The greatest key of a row, for all of its lanes, as over_lanes does it for sums.
fn greatest_over_lanes(lid: u32, lane: u32, v: key) -> key {
    var all = v;
    if LANES > 1u {
        let first = lid - lane * LANE_STEP;
        partial_key[lid] = v;
        workgroupBarrier();
        if LANES <= FAN {
            for (var i = 0u; i < LANES; i++) {
                all = max(all, partial_key[first + i * LANE_STEP]);
            }
        } else {
            if lane < LANES / FAN {
                var some = v;
                for (var i = 1u; i < FAN; i++) {
                    some = max(some, partial_key[lid + i * (LANES / FAN) * LANE_STEP]);
                }
                partial_keys[lid] = some;
            }
            workgroupBarrier();
            for (var i = 0u; i < LANES / FAN; i++) {
                all = max(all, partial_keys[first + i * LANE_STEP]);
            }
        }
    }
    return all;
}

// What is seen of elements: the greatest, and whether there is a NaN, which `max` may drop: the greatest bits without a sign.
struct Seen {
    top: vec4<f32>,
    bits: vec4<u32>,
}

fn seen(x: vec4<f32>) -> Seen {
    return Seen(x, bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu));
}

fn joined(s: Seen, x: vec4<f32>) -> Seen {
    return Seen(max(s.top, x), max(s.bits, bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)));
}

fn key_of(s: Seen) -> key {
    let bits = max(max(s.bits.x, s.bits.y), max(s.bits.z, s.bits.w));
    let top = max(max(s.top.x, s.top.y), max(s.top.z, s.top.w));
    return to_key(select(top, nan_f32(), bits > 0x7f800000u));
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
    let x = whole_row(base, lane, -inf_f32());

    var all = seen(x[0]);
    if REGISTERS > 1u {
        all = joined(all, x[1]);
    }
    if REGISTERS > 2u {
        all = joined(all, x[2]);
    }
    if REGISTERS > 3u {
        all = joined(all, x[3]);
    }
    if REGISTERS > 4u {
        all = joined(all, x[4]);
    }
    if REGISTERS > 5u {
        all = joined(all, x[5]);
    }
    if REGISTERS > 6u {
        all = joined(all, x[6]);
    }
    if REGISTERS > 7u {
        all = joined(all, x[7]);
    }
    let greatest = from_key(greatest_over_lanes(lid, lane, key_of(all)));
    let finite = (bitcast<u32>(greatest) & 0x7f800000u) != 0x7f800000u;

    var w: Registers;
    w[0] = weights(x[0], greatest);
    if REGISTERS > 1u {
        w[1] = weights(x[1], greatest);
    }
    if REGISTERS > 2u {
        w[2] = weights(x[2], greatest);
    }
    if REGISTERS > 3u {
        w[3] = weights(x[3], greatest);
    }
    if REGISTERS > 4u {
        w[4] = weights(x[4], greatest);
    }
    if REGISTERS > 5u {
        w[5] = weights(x[5], greatest);
    }
    if REGISTERS > 6u {
        w[6] = weights(x[6], greatest);
    }
    if REGISTERS > 7u {
        w[7] = weights(x[7], greatest);
    }
    let sum = over_lanes(lid, lane, sum_registers(w));

    if output < params.outputs {
        let inner = params.count;
        let out_base = base_of(first_row, row, inner);
        let rest = rest_of(sum);
        put4(out_base, place(0u, lane), inner, results(x[0], w[0], greatest, rest, finite));
        if REGISTERS > 1u {
            put4(out_base, place(1u, lane), inner, results(x[1], w[1], greatest, rest, finite));
        }
        if REGISTERS > 2u {
            put4(out_base, place(2u, lane), inner, results(x[2], w[2], greatest, rest, finite));
        }
        if REGISTERS > 3u {
            put4(out_base, place(3u, lane), inner, results(x[3], w[3], greatest, rest, finite));
        }
        if REGISTERS > 4u {
            put4(out_base, place(4u, lane), inner, results(x[4], w[4], greatest, rest, finite));
        }
        if REGISTERS > 5u {
            put4(out_base, place(5u, lane), inner, results(x[5], w[5], greatest, rest, finite));
        }
        if REGISTERS > 6u {
            put4(out_base, place(6u, lane), inner, results(x[6], w[6], greatest, rest, finite));
        }
        if REGISTERS > 7u {
            put4(out_base, place(7u, lane), inner, results(x[7], w[7], greatest, rest, finite));
        }
    }
    put_rest(first_row, lid);
}
