// Computes: per output, the position (row-major over the reduced axes) of the element with the greatest key;
//           among equal keys the first, or the last with LAST = 1. NaN has the greatest key.
// Bindings: params, a, out (declared by the input and output parts).
// Grid: ceil(outputs / ROWS) * chunks workgroups, folded; chunk c of an output covers chunk_len elements from c * chunk_len.
// Requires: key (key part); fetch_keys, whole_keys, fetch_position (input part); emit (output part).
// Accuracy: exact.

override LAST: u32 = 0u;

const NONE: u32 = 0xffffffffu;

var<workgroup> partial_key: array<key, WG>;
var<workgroup> partial_position: array<u32, WG>;

fn wins(k: key, at: u32, best: key, best_at: u32) -> bool {
    var better = best_at == NONE;
    if at != NONE && best_at != NONE {
        better = k > best;
        if k == best {
            better = (at > best_at) == (LAST == 1u);
        }
    }
    return better;
}

// What a lane found so far: a key, and its place in the row or NONE.
struct Found {
    best: key,
    at: u32,
}

// Whether one of four keys at later places takes the place of the best one.
fn beats(k: vec4<key>, best: key, at: u32) -> bool {
    let most = max(max(k.x, k.y), max(k.z, k.w));
    return at == NONE || most > best || (LAST == 1u && most == best);
}

fn later(k: key, r: u32, end: u32, found: Found) -> Found {
    var next = found;
    if r < end && (found.at == NONE || k > found.best || (LAST == 1u && k == found.best)) {
        next = Found(k, r);
    }
    return next;
}

// Four keys from place r on, each of which is later than what was found: places rise.
fn among(k: vec4<key>, r: u32, end: u32, found: Found) -> Found {
    var next = found;
    if beats(k, found.best, found.at) {
        next = later(k.w, r + 3u, end, later(k.z, r + 2u, end, later(k.y, r + 1u, end, later(k.x, r, end, found))));
    }
    return next;
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

    var best = key();
    var best_at = NONE;
    var base = 0u;
    if live {
        base = kept_offset(output);
        let end = min(params.len, (chunk + 1u) * params.chunk_len);
        let step = 4u * LANES;
        var r = chunk * params.chunk_len + 4u * lane;
        for (; r + 3u * step + 3u < end; r += 4u * step) {
            // Four loads in flight.
            let x = whole_keys(base, r);
            let y = whole_keys(base, r + step);
            let z = whole_keys(base, r + 2u * step);
            let w = whole_keys(base, r + 3u * step);
            let all = max(max(x, y), max(z, w));
            if beats(all, best, best_at) {
                // Rare, once a row is long.
                var found = Found(best, best_at);
                found = among(x, r, end, found);
                found = among(y, r + step, end, found);
                found = among(z, r + 2u * step, end, found);
                found = among(w, r + 3u * step, end, found);
                best = found.best;
                best_at = found.at;
            }
        }
        for (; r < end; r += step) {
            let found = among(fetch_keys(base, r, end), r, end, Found(best, best_at));
            best = found.best;
            best_at = found.at;
        }
        if best_at != NONE {
            best_at = fetch_position(base, best_at);
        }
    }

    if LANES > 1u {
        partial_key[lid] = best;
        partial_position[lid] = best_at;
        workgroupBarrier();
        for (var s = LANES / 2u; s > 0u; s /= 2u) {
            if lane < s {
                let other = lid + s * LANE_STEP;
                let k = partial_key[other];
                let at = partial_position[other];
                if wins(k, at, partial_key[lid], partial_position[lid]) {
                    partial_key[lid] = k;
                    partial_position[lid] = at;
                }
            }
            workgroupBarrier();
        }
        best = partial_key[lid];
        best_at = partial_position[lid];
    }
    if live && lane == 0u {
        emit(output * params.chunks + chunk, best, best_at);
    }
}
