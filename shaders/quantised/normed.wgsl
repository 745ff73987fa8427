// Norm part of products with blocks: the row of x is divided by the root of its mean square, and multiplied by a weight for each
// element. The divisor is the same for all terms of a sum, so it comes last: each sum stands beside the sum of squares.
// Requires: words, unpack; Run.

const NORMED: bool = true;

@group(0) @binding(4) var<storage, read> c: array<words>;

fn weight_at(i: u32) -> vec4<f32> {
    return unpack(c[params.norm_offset / 4u + i]);
}

// A run of x, whose first vector is `i` of the row, times its weights.
fn weighted(x: Run, i: u32) -> Run {
    return Run(x.v0 * weight_at(i), x.v1 * weight_at(i + 1u), x.v2 * weight_at(i + 2u), x.v3 * weight_at(i + 3u));
}

// Of a run of which there is MULTIPLE times as much.
fn squares_of(multiple: Run) -> f32 {
    let x = Run(multiple.v0 / MULTIPLE, multiple.v1 / MULTIPLE, multiple.v2 / MULTIPLE, multiple.v3 / MULTIPLE);
    return dot(x.v0, x.v0) + dot(x.v1, x.v1) + (dot(x.v2, x.v2) + dot(x.v3, x.v3));
}

// What sums are multiplied by, for rows of so many elements.
fn factor_of(squares: f32, len: u32) -> f32 {
    return 1.0 / sqrt(squares / f32(len) + params.eps);
}
