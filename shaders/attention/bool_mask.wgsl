// Mask part: true where a key may be seen.

@group(0) @binding(5) var<storage, read> in_3: array<cond_words>;

const MASKED: bool = true;

fn bias_at(batch: u32, head: u32, query: u32, key: u32) -> f32 {
    let at = params.mask_offset + batch * params.mask_strides.x + head * params.mask_strides.y
        + query * params.mask_strides.z + key * params.mask_strides.w;
    return select(-inf_f32(), 0.0, cond_from_word(in_3[cond_word_index(at)], at));
}
