// Computes: per output, the position (row-major over the reduced axes) of the element with the greatest key;
//           among equal keys the first, or the last with LAST = 1. NaN has the greatest key.
//           Lanes remember in which vector of four neighbours their greatest key is; only the winner looks where in it.
// Bindings: params, a, out (declared by the input and output parts).
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of an output covers chunk_len elements from c * chunk_len.
// Requires: key (key part); greatest_of, greatest_of_tail, fetch_keys, fetch_position (input part); over_lanes; emit (output part).
// Accuracy: exact.

override LAST: u32 = 0u;

const NONE: u32 = 0xffffffffu;

// What a lane found so far: a key, and where the vector that has it begins in the row, or NONE.
struct Found {
    best: key,
    at: u32,
}

alias lane_acc = Found;

fn combine_lanes(x: Found, y: Found) -> Found {
    var better = x.at == NONE;
    if x.at != NONE && y.at != NONE {
        better = y.best > x.best;
        if y.best == x.best {
            better = (y.at > x.at) == (LAST == 1u);
        }
    }
    if better {
        return y;
    }
    return x;
}

// With the greatest of four keys from place r on, behind all that was looked at.
fn later(found: Found, most: key, r: u32) -> Found {
    let better = select(most > found.best, most >= found.best, LAST == 1u);
    return Found(select(found.best, most, better), select(found.at, r, better));
}

// Which of four keys is the greatest.
fn among(k: vec4<key>) -> u32 {
    let most = vec4<key>(max(max(k.x, k.y), max(k.z, k.w)));
    let places = vec4<u32>(0u, 1u, 2u, 3u);
    if LAST == 1u {
        let at = select(vec4<u32>(), places, k == most);
        return max(max(at.x, at.y), max(at.z, at.w));
    }
    let at = select(vec4<u32>(3u), places, k == most);
    return min(min(at.x, at.y), min(at.z, at.w));
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let chunk = id % params.chunks;
    let row = (lid / ROW_STEP) % ROWS;
    let lane = (lid / LANE_STEP) % LANES;
    let output = (id / params.chunks) * ROWS + row;
    let live = output < params.outputs;

    // The least key there is.
    var found = Found(min(key(), bitcast<key>(0x80000000u)), NONE);
    var base = 0u;
    let end = min(params.len, (chunk + 1u) * params.chunk_len);
    if live {
        base = kept_offset(output);
        let step = 4u * LANES;
        var r = chunk * params.chunk_len + 4u * lane;
        if r < end {
            found.at = r;
        }
        for (; r + 3u * step + 3u < end; r += 4u * step) {
            // Four loads in flight.
            let x = greatest_of(base, r);
            let y = greatest_of(base, r + step);
            let z = greatest_of(base, r + 2u * step);
            let w = greatest_of(base, r + 3u * step);
            found = later(found, x, r);
            found = later(found, y, r + step);
            found = later(found, z, r + 2u * step);
            found = later(found, w, r + 3u * step);
        }
        for (; r < end; r += step) {
            found = later(found, greatest_of_tail(base, r, end), r);
        }
    }
    found = over_lanes(lid, lane, found);
    if live && lane == 0u {
        // Past the end there are copies of the last element.
        let at = min(found.at + among(fetch_keys(base, found.at, end)), end - 1u);
        emit(output * params.chunks + chunk, found.best, fetch_position(base, at));
    }
}
