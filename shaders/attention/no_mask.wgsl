// Mask part: no mask.

const MASKED: bool = false;

fn bias_at(batch: u32, head: u32, query: u32, key: u32) -> f32 {
    return 0.0;
}
