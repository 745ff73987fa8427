// Operand part: a convolution of f16 with kernels of one element and nothing skipped or padded, as a product of each image:
// filters in lines along the channels, or with A_ACROSS 1 in vectors of several, images in vectors along their positions, or with B_ACROSS 0 along the channels.
// Requires cooperative.wgsl (A_ACROSS, B_ACROSS, WHOLE), emit_vec4.

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f16>>;

struct Origin {
    a: u32,
    b: u32,
}

fn filters() -> u32 {
    return params.m;
}

// Of the tile body's operands: a are the filters, b is an image.
fn origin(batch: u32) -> Origin {
    return Origin(params.w_offset, params.x_offset + batch * params.x_batch);
}

fn fetch_a4(first: u32, row: u32, k: u32) -> vec4<f16> {
    if WHOLE == 0u && k >= params.k {
        return vec4<f16>();
    }
    // What stands in for filters behind the last is never stored.
    if A_ACROSS == 1u {
        return b[(first + k * params.w_channel + min(row, params.m - 4u)) / 4u];
    }
    return b[(first + min(row, params.m - 1u) * params.w_filter + k) / 4u];
}

fn fetch_b4(first: u32, k: u32, col: u32) -> vec4<f16> {
    if WHOLE == 0u && k >= params.k {
        return vec4<f16>();
    }
    // The same for positions, of which there is a multiple of four.
    let position = min(col, params.n - 4u + 3u * (1u - B_ACROSS));
    return a[(first + k * params.x_channel + position * params.x_steps.z) / 4u];
}

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.m && col < params.n {
        emit_vec4((batch * params.m + row) * params.n + col, row, v);
    }
}
