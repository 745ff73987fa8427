// Size part of products with blocks: 4 rows of the input, 4 of the blocks.

const LINES: u32 = 4u;
override ROWS: u32 = 4u;

// Of each row of the input four rows of the blocks.
struct Sums {
    a0: vec4<f32>,
    a1: vec4<f32>,
    a2: vec4<f32>,
    a3: vec4<f32>,
}

fn add_run(sums: Sums, place: At, at: u32, near: Weights, far: Weights) -> Sums {
    return Sums(
        times(sums.a0, near, input_of(place, 0u, at)),
        times(sums.a1, near, input_of(place, 1u, at)),
        times(sums.a2, near, input_of(place, 2u, at)),
        times(sums.a3, near, input_of(place, 3u, at)),
    );
}

fn put_sums(sums: Sums, lid: u32) {
    put(0u, lid, sums.a0);
    put(4u, lid, sums.a1);
    put(8u, lid, sums.a2);
    put(12u, lid, sums.a3);
}
