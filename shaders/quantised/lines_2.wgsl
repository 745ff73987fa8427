// Size part of products with blocks: 2 rows of the input, 8 or 4 of the blocks.

const LINES: u32 = 2u;
override ROWS: u32 = 8u;

// Of each row of the input four rows of the blocks, then the next four, if there are as many.
struct Sums {
    a0: vec4<f32>,
    b0: vec4<f32>,
    a1: vec4<f32>,
    b1: vec4<f32>,
}

fn add_run(sums: Sums, place: At, at: u32, near: Weights, far: Weights) -> Sums {
    let x0 = input_of(place, 0u, at);
    let x1 = input_of(place, 1u, at);
    var next = sums;
    next.a0 = times(sums.a0, near, x0);
    next.a1 = times(sums.a1, near, x1);
    if ROWS > 4u {
        next.b0 = times(sums.b0, far, x0);
        next.b1 = times(sums.b1, far, x1);
    }
    return next;
}

fn put_sums(sums: Sums, lid: u32) {
    put(0u, lid, sums.a0);
    put(ROWS, lid, sums.a1);
    if ROWS > 4u {
        put(4u, lid, sums.b0);
        put(12u, lid, sums.b1);
    }
}
