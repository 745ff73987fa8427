// Computes: of each row the factor, its greatest magnitude (at least 1e-30) divided by 127, and as integers its elements divided by
//           that. A row with NaN has the factor NaN, one with infinity an infinite one, and zeros for what has no quotient.
// Bindings: params, 1 a (any strides), 2 out (the integers, any strides), 3 out_0 (the factors, any strides), perhaps 4 b (positions;
//           declared by the place part).
// Grid: ceil(rows / ROWS) workgroups, folded; LANES invocations share a row.
// Requires: elem = f32, word, word_index, from_word; cell, put; place; apply, which rounds halves to even; divide_f32; over_lanes.
// Accuracy: exact: both divisions are correctly rounded to f32, and a quotient to the nearest integer, halves to even.

override WG: u32 = 256u;
override ROWS: u32 = 1u;
override LANES: u32 = 256u;
const LANE_STEP: u32 = 1u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read_write> out: array<cell>;
@group(0) @binding(3) var<storage, read_write> out_0: array<f32>;

// The bits of 1e-30.
const LEAST: u32 = 0x0da24260u;

// Magnitudes are compared by their bits: so NaN is above infinity, and stays.
alias lane_acc = u32;

fn combine_lanes(x: lane_acc, y: lane_acc) -> lane_acc {
    return max(x, y);
}

fn folded(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + (group.y + group.z * groups.y) * groups.x;
}

// Where a row begins, by its batch, head and position.
fn begins(row: vec3<u32>, strides: vec4<u32>) -> u32 {
    let steps = row * strides.xyz;
    return steps.x + steps.y + steps.z;
}

// An element of the row that begins at base, or 0 behind its end.
fn element(base: u32, i: u32) -> f32 {
    if i >= params.len {
        return 0.0;
    }
    let at = base + i * params.strides.w;
    return from_word(a[word_index(at)], at);
}

fn four(base: u32, i: u32) -> vec4<f32> {
    return vec4<f32>(element(base, i), element(base, i + 1u), element(base, i + 2u), element(base, i + 3u));
}

// A magnitude is at most the factor times 127, so the integer is one of 8 bits.
fn integer(x: f32, factor: f32) -> i32 {
    let nearest = apply(divide_f32(x, factor));
    if is_nan(nearest) {
        return 0;
    }
    return i32(nearest);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let lane = lid % LANES;
    let row = folded(group, groups) * ROWS + lid / LANES;
    // What is past the last row finds that one's factor once more, and writes nothing.
    let known = min(row, params.rows - 1u);
    let outer = known / params.count;
    let batch = outer / params.heads;
    let at = vec3<u32>(batch, outer - batch * params.heads, known - outer * params.count);
    let base = params.offset + begins(at, params.strides);

    var bits = LEAST;
    let step = 4u * LANES;
    var i = 4u * lane;
    while i < params.len {
        let own = bitcast<vec4<u32>>(four(base, i)) & vec4<u32>(0x7fffffffu);
        bits = max(bits, max(max(own.x, own.y), max(own.z, own.w)));
        if params.len - i <= step {
            break;
        }
        i += step;
    }
    let factor = divide_f32(bitcast<f32>(over_lanes(lid, lane, bits)), 127.0);

    if row < params.rows {
        let to = vec3<u32>(at.xy, place(at.x, at.z));
        let out_base = params.out_offset + begins(to, params.out_strides);
        i = 4u * lane;
        while i < params.len {
            let x = four(base, i);
            put(out_base, i, vec4<i32>(integer(x.x, factor), integer(x.y, factor), integer(x.z, factor), integer(x.w, factor)));
            if params.len - i <= step {
                break;
            }
            i += step;
        }
        if lane == 0u {
            out_0[params.factors_offset + begins(to, params.factors_strides)] = factor;
        }
    }
}
