// Query part of tile.wgsl: queries of any strides, element by element.

@group(0) @binding(1) var<storage, read> a: array<word>;

// Elements d .. d + 3 of a query whose first element is at `base`, scaled.
fn fetch_q(base: u32, d: u32) -> vec4<f32> {
    var four = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if d + i < params.head_dim {
            let at = base + (d + i) * params.q_strides.w;
            four[i] = from_word(a[word_index(at)], at) * params.scale;
        }
    }
    return four;
}
