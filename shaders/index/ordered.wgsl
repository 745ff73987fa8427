// Computes: out[e] = apply(.. apply(out[e], first update of e) .., last update of e) for every element e that an index names, in
//           the order of positions and rounded once at the end; after PIECE updates further ones are in pieces of PIECE, each
//           combined before. So the result is the same on every run.
// Bindings: params, 1 a (the updates, any strides), 2 b (the indices, any strides), 3 in_0 (keys), 4 out (any strides), perhaps
//           5 in_1 (positions), 6 in_2 (pieces); in_0 to in_2 are declared by the run part.
// Grid: one row of workgroups, looping; one lane of one position per invocation and step. Who has the first of a run does it all.
// Requires: elem = f32, word, word_index, from_word; updated; apply; located (which reads b); is_first, following, place_at,
//           with_pieces.
// Accuracy: sums and products of floats: that of apply in f32 in a fixed order, then one rounding to the dtype.

override WG: u32 = 256u;
override PIECE: u32 = 4096u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<atomic<u32>>;

// The position's number in the plan.
fn numbered(s: u32, lane: u32) -> u32 {
    return (params.first + place_at(s)) * params.lanes + lane;
}

fn run_from(first: u32, lane: u32) {
    let at = located(numbered(first, lane)).x;
    var before = atomicLoad(&out[word_index(at)]);
    var sum = from_word(bitcast<word>(before), at);
    var s = first;
    for (var turn = 0u; turn < PIECE && s < params.positions; turn++) {
        let source = walked(numbered(s, lane)).z;
        sum = apply(sum, from_word(a[word_index(source)], source));
        s = following(s);
    }
    sum = with_pieces(first, lane, sum);
    // Neighbours in a word may be written meanwhile; this element is not.
    loop {
        let after = updated(before, at, sum);
        let turn = atomicCompareExchangeWeak(&out[word_index(at)], before, after);
        if turn.exchanged {
            break;
        }
        before = turn.old_value;
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let step = groups.x * WG;
    var i = id.x;
    while i < params.len {
        let s = i / params.lanes;
        if is_first(s) {
            run_from(s, i - s * params.lanes);
        }
        if params.len - i <= step {
            break;
        }
        i += step;
    }
}
