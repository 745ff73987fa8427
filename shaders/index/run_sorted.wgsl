// Runs of equal keys, which were sorted together with their positions by a sort that keeps the order of equals.

@group(0) @binding(3) var<storage, read> in_0: array<u32>;
@group(0) @binding(5) var<storage, read> in_1: array<u32>;
@group(0) @binding(6) var<storage, read> in_2: array<f32>;

fn place_at(s: u32) -> u32 {
    return in_1[s];
}

fn is_first(s: u32) -> bool {
    return s == 0u || in_0[s - 1u] != in_0[s];
}

// The next of the run, or the number of positions.
fn following(s: u32) -> u32 {
    let t = s + 1u;
    return select(params.positions, t, t < params.positions && in_0[t] == in_0[s]);
}

// What is left of a run after PIECE updates, a piece after the other.
fn with_pieces(first: u32, lane: u32, x: elem) -> elem {
    var sum = x;
    for (var t = first + PIECE; t < params.positions && in_0[t] == in_0[first]; t += PIECE) {
        sum = apply(sum, in_2[t / PIECE * params.lanes + lane]);
    }
    return sum;
}
