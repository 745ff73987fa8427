// Part of the products of packed convolutions of f32 and bf16: what packing left about them. Requires facts.wgsl.

@group(0) @binding(4) var<storage, read> c: array<u32>;

// Packed pixels from the first tap of the first block to that of a step along k.
fn pixels_of(step: u32) -> u32 {
    return c[table_at() + step];
}

// Filters without room are left to the other kernel, and so are positions.
fn computes(at: vec3<u32>) -> bool {
    return c[filter_flag(min(at.z, params.batch - 1u), at.x * SIDE / FLAGGED_SIDE)] == 0u;
}

fn writes(group: u32, position: u32) -> bool {
    return c[region_flag(group, position / FLAGGED_SIDE)] == 0u;
}

// 2^e for e from -126 to 127.
fn power(e: i32) -> f32 {
    return bitcast<f32>(u32(e + 127) << 23u);
}

// A sum as it is without the scales of its image and its filter.
fn unscaled(image: u32, filter_index: u32, v: f32) -> f32 {
    let e = i32(c[images_at() + image] + (c[filters_at() + filter_index] & 255u)) - 282;
    // In two halves, so that only the result may be too large or too small.
    let half = e / 2;
    return v * power(half) * power(e - half);
}
