// Rows that are read once: each lane keeps up to REGISTERS vectors of four elements, vector h of a lane being number lane + h * LANES
// of the row. All indices of the array are constants, so that it lies in registers.
// Requires: row4, row4_tail (access part).

override REGISTERS: u32 = 8u;
// Whether a row has exactly as many elements as its lanes keep.
override WHOLE: bool = false;
// How many of the four elements of a lane's last vector any row reaches.
override COLUMNS: u32 = 4u;

alias Registers = array<vec4<f32>, 8>;

// The place in the row of the first element of vector h.
fn place(h: u32, lane: u32) -> u32 {
    return first_place(lane) + 4u * h * LANES;
}

// Which of the four elements of vector h are in the row.
fn inside(h: u32, lane: u32) -> vec4<bool> {
    if WHOLE {
        return vec4<bool>(true);
    }
    // Known when the kernel is compiled: what is never in a row is not loaded.
    let columns = select(4u, COLUMNS, h + 1u == REGISTERS);
    let reached = vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(columns);
    return reached & (four_places(place(h, lane)) < vec4<u32>(params.len));
}

// Vector h, with `other` past the end of the row.
fn vector(base: u32, h: u32, lane: u32, other: f32) -> vec4<f32> {
    let r = place(h, lane);
    if WHOLE {
        return row4(base, r);
    }
    // No branch, so that all loads are in flight together: past the end, the last vector once more.
    let last = select(params.len - 1u, ((params.len - 1u) / 4u) * 4u, SPACING == 1u);
    let x = row4_tail(base, min(r, last), params.len);
    return select(vec4<f32>(other), x, inside(h, lane));
}

fn whole_row(base: u32, lane: u32, other: f32) -> Registers {
    var v: Registers;
    v[0] = vector(base, 0u, lane, other);
    if REGISTERS > 1u {
        v[1] = vector(base, 1u, lane, other);
    }
    if REGISTERS > 2u {
        v[2] = vector(base, 2u, lane, other);
    }
    if REGISTERS > 3u {
        v[3] = vector(base, 3u, lane, other);
    }
    if REGISTERS > 4u {
        v[4] = vector(base, 4u, lane, other);
    }
    if REGISTERS > 5u {
        v[5] = vector(base, 5u, lane, other);
    }
    if REGISTERS > 6u {
        v[6] = vector(base, 6u, lane, other);
    }
    if REGISTERS > 7u {
        v[7] = vector(base, 7u, lane, other);
    }
    return v;
}

// The sum of all that a lane keeps, in a fixed order.
fn sum_registers(v: Registers) -> f32 {
    var s = v[0];
    if REGISTERS > 1u {
        s += v[1];
    }
    if REGISTERS > 2u {
        s += v[2];
    }
    if REGISTERS > 3u {
        s += v[3];
    }
    if REGISTERS > 4u {
        s += v[4];
    }
    if REGISTERS > 5u {
        s += v[5];
    }
    if REGISTERS > 6u {
        s += v[6];
    }
    if REGISTERS > 7u {
        s += v[7];
    }
    return (s.x + s.y) + (s.z + s.w);
}
