// Query part of tile.wgsl: queries lie so that four neighbouring elements are one load.

@group(0) @binding(1) var<storage, read> a: array<words>;

// Elements d .. d + 3 of a query whose first element is at `base`, scaled.
fn fetch_q(base: u32, d: u32) -> vec4<f32> {
    if d < params.head_dim {
        return unpack(a[(base + d) / 4u]) * params.scale;
    }
    return vec4<f32>();
}
