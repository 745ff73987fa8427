// Runs of equal keys in the order of positions, by looking at all: for few positions.

@group(0) @binding(3) var<storage, read> in_0: array<u32>;

fn place_at(s: u32) -> u32 {
    return s;
}

fn is_first(s: u32) -> bool {
    for (var t = 0u; t < s; t++) {
        if in_0[t] == in_0[s] {
            return false;
        }
    }
    return true;
}

// The next of the run, or the number of positions.
fn following(s: u32) -> u32 {
    var t = s + 1u;
    while t < params.positions && in_0[t] != in_0[s] {
        t++;
    }
    return t;
}

// What is left of a run after PIECE updates: nothing.
fn with_pieces(first: u32, lane: u32, x: elem) -> elem {
    return x;
}
