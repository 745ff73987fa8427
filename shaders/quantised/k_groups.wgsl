// Shared by Q4_K and Q5_K: a word has the scales of two groups of 32 elements and then their minima, a byte each; another word the scales
// of both. Requires small_of (planes.wgsl), from_word_scale, MULTIPLE.

// Of group `run` of a unit: its scale, and less its minimum over MULTIPLE.
fn group_of(groups: u32, scales: u32, run: u32) -> vec2<f32> {
    let both = vec2<f32>(from_word_scale(scales, 0u) * 16777216.0, -from_word_scale(scales, 1u));
    return small_of(groups >> (run * 8u)).xz * both;
}
