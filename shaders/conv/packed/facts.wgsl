// Shared by the kernels of packed convolutions of f32 and bf16: the layout of what they leave about the operands.
//
// Flags of 128 positions, of all groups, and of 128 filters; pixels from the first tap to each; exponents of filters, and whether
// one does not fit; exponents of images; the largest magnitudes of parts of images; of each packed pixel and invocation the sum and
// the largest of magnitudes.

const FLAGGED_SIDE: u32 = 128u;

fn regions() -> u32 {
    return (params.images * params.plane + FLAGGED_SIDE - 1u) / FLAGGED_SIDE;
}

fn filter_blocks() -> u32 {
    return (params.m + FLAGGED_SIDE - 1u) / FLAGGED_SIDE;
}

fn region_flag(group: u32, region: u32) -> u32 {
    return group * regions() + region;
}

fn filter_flag(group: u32, block: u32) -> u32 {
    return params.batch * regions() + group * filter_blocks() + block;
}

fn table_at() -> u32 {
    return params.batch * (regions() + filter_blocks());
}

fn filters_at() -> u32 {
    return table_at() + params.blocks * params.taps;
}

fn images_at() -> u32 {
    return filters_at() + params.batch * params.m;
}

fn maxima_at() -> u32 {
    return images_at() + params.images;
}

fn stats_at() -> u32 {
    return maxima_at() + params.images * params.chunks;
}
