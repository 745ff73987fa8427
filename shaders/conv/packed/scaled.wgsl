// Part of the products of packed convolutions of f32 and bf16: what packing left about them. Requires facts.wgsl.

@group(0) @binding(4) var<storage, read> c: array<u32>;

// Packed pixels from the first tap of the first block to that of a step along k.
fn pixels_of(step: u32) -> u32 {
    return c[table_at() + step];
}

// Filters of a group.
fn filters() -> u32 {
    return params.m;
}

// Filters without room are left to the other kernel, and so are positions.
fn computes(at: vec3<u32>) -> bool {
    return c[filter_flag(min(at.z, params.batch - 1u), at.x * SIDE / FLAGGED_SIDE)] == 0u;
}

fn writes(group: u32, position: u32) -> bool {
    return c[region_flag(group, position / FLAGGED_SIDE)] == 0u;
}

// The exponents of what sums of a filter and of an image are multiplied by.
fn filter_exponent(filter_index: u32) -> i32 {
    return i32(c[filters_at() + filter_index] & 255u) - 141;
}

fn image_exponent(image: u32) -> i32 {
    return i32(c[images_at() + image]) - 141;
}

// The same by rows and columns of the result; those of lines behind the last are not used.
fn row_exponent(group: u32, row: u32) -> i32 {
    return filter_exponent(group * params.m + min(row, params.m - 1u));
}

fn col_exponent(group: u32, position: u32) -> i32 {
    return image_exponent(min(position, params.n - 1u) / params.plane);
}
