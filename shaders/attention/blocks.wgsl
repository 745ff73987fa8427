// What matrix.wgsl and pieces.wgsl have in common but for what depends on overrides: naga 30 panics where a function ahead of an
// override uses it.

const KEYS: u32 = 32u;
// A row's first weights are up to 2^FIRST, and none is above 2^MOST, which f16 holds.
const FIRST: f32 = 7.0;
const MOST: f32 = 15.0;
const LOG2_E: f32 = 1.44269504;
const LN_2: f32 = 0.693147181;
// Lines of scores and weights in workgroup memory, with one or two vectors more against bank conflicts.
const SCORE_PITCH: u32 = KEYS / 4u + 1u;
const WEIGHT_PITCH: u32 = KEYS / 4u + 2u;

// The vector of a head, or its last one if that is behind its end.
fn inside(vector: u32, dim: u32) -> u32 {
    return min(vector, dim / 4u - 1u);
}
