// Part of the products of packed convolutions of f16, which are packed as they are.

// Packed pixels from the first tap of the first block to each.
@group(0) @binding(4) var<storage, read> c: array<u32>;

fn pixels_of(step: u32) -> u32 {
    return c[step];
}

// Filters of a group.
fn filters() -> u32 {
    return params.m;
}

fn computes(at: vec3<u32>) -> bool {
    return true;
}

fn writes(group: u32, position: u32) -> bool {
    return true;
}
