// Mask part: f32 values that are added to the scores; -inf hides a key.

@group(0) @binding(5) var<storage, read> in_3: array<f32>;

const MASKED: bool = true;

fn bias_at(batch: u32, head: u32, query: u32, key: u32) -> f32 {
    return in_3[params.mask_offset + batch * params.mask_strides.x + head * params.mask_strides.y
        + query * params.mask_strides.z + key * params.mask_strides.w];
}
