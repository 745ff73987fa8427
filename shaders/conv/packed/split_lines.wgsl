// Part of the kernel of packed f32: where matrices of b are, if it is the images of a convolution. Lines are packed pixels, at which
// the first tap of a position reads; those between two rows or images have no position, and are not written.

// Vectors of a pixel.
const ALONG: u32 = 4u;

struct Origin {
    a: u32,
    b: u32,
}

fn origin(batch: u32) -> Origin {
    let lines = (params.m + 15u) / 16u * 16u;
    return Origin(batch * lines * params.k, batch * params.blocks * 2u * params.pixels * ALONG);
}

// f16 from one line of a to the next.
fn line_halves() -> u32 {
    return params.k;
}

fn lines_b(first: u32, col: u32) -> u32 {
    return first + col * ALONG;
}

fn step_b(k: u32) -> u32 {
    return pixels_of(k / DEPTH) * ALONG;
}

fn lower_b() -> u32 {
    return params.pixels * ALONG;
}
