// Computes: out[s / PIECE, lane] = apply(.. u(s) .., u(t)) for the updates u from s to t where s is PIECE, 2 PIECE, .. positions
//           behind the beginning of its run of equal keys, and t is PIECE - 1 further or the run's last. No other such s has the
//           same quotient. So that no invocation walks a long run alone.
// Bindings: params, 1 a (the updates, any strides), 3 in_0 (sorted keys), 4 out, 5 in_1 (positions).
// Grid: one row of workgroups, looping; one lane of one position per invocation and step.
// Requires: elem = f32, word, word_index, from_word; apply; walked.
// Accuracy: that of apply in f32, the order is fixed.

override WG: u32 = 256u;
override PIECE: u32 = 4096u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(3) var<storage, read> in_0: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
@group(0) @binding(5) var<storage, read> in_1: array<u32>;

fn update_at(s: u32, lane: u32) -> elem {
    let source = walked((params.first + in_1[s]) * params.lanes + lane).z;
    return from_word(a[word_index(source)], source);
}

// Where the run of s begins, which is not behind `high`.
fn beginning(s: u32, high: u32) -> u32 {
    var least = 0u;
    var most = high;
    while least < most {
        let middle = least + (most - least) / 2u;
        if in_0[middle] < in_0[s] {
            least = middle + 1u;
        } else {
            most = middle;
        }
    }
    return least;
}

fn piece_from(s: u32, lane: u32) {
    var sum = update_at(s, lane);
    let end = min(params.positions, s + PIECE);
    for (var t = s + 1u; t < end && in_0[t] == in_0[s]; t++) {
        sum = apply(sum, update_at(t, lane));
    }
    out[params.offset_out + s / PIECE * params.lanes + lane] = sum;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let step = groups.x * WG;
    var i = id.x;
    while i < params.len {
        let s = i / params.lanes;
        if s >= PIECE && in_0[s - PIECE] == in_0[s] && (s - beginning(s, s - PIECE)) % PIECE == 0u {
            piece_from(s, i - s * params.lanes);
        }
        if params.len - i <= step {
            break;
        }
        i += step;
    }
}
