// Size part of products with blocks: 1 row of the input, 8 or 4 of the blocks.

const LINES: u32 = 1u;
override ROWS: u32 = 8u;

// Of each row of the input four rows of the blocks, then the next four, if there are as many.
struct Sums {
    a0: vec4<f32>,
    b0: vec4<f32>,
    squares: f32,
}

fn add_run(sums: Sums, place: At, at: u32, near: Weights, far: Weights) -> Sums {
    let given = input_of(place, 0u, at);
    let x0 = weighted(given, place.start * UNIT + at);
    var next = sums;
    if NORMED {
        next.squares += squares_of(given);
    }
    next.a0 = times(sums.a0, near, x0);
    if ROWS > 4u {
        next.b0 = times(sums.b0, far, x0);
    }
    return next;
}

fn put_sums(sums: Sums, lid: u32) {
    put(0u, lid, sums.a0);
    if ROWS > 4u {
        put(4u, lid, sums.b0);
    }
    if NORMED {
        set_sum(ROWS * WG + lid, sums.squares);
    }
}
