// Format part: Q4_K, 256 elements of 4 bits; 8 groups of 32 with scales and minima of 6 bits, a scale of each kind. A unit is 16 bytes of
// integers: 16 elements of one group in the lower halves, 16 of the next in the upper ones.
// Planes: x the integers, y scales and minima of groups, z the scales of these. Requires planes.wgsl, k_groups.wgsl.

const RUNS: u32 = 2u;
const ZERO: f32 = 0.0;
// The largest magnitude of an integer.
const LARGEST: f32 = 15.0;

struct Unit {
    quants: vec4<u32>,
    groups: u32,
    scales: u32,
}

fn unit_at(i: u32) -> Unit {
    return Unit(blocks_at(params.planes.x + i), word_at(params.planes.y, i >> 1u), word_at(params.planes.z, i >> 3u));
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return (i >> 1u) * 16u + run * 8u + (i & 1u) * 4u;
}

fn bytes_of(unit: Unit, run: u32) -> vec4<u32> {
    return (unit.quants >> vec4<u32>(run * 4u)) & vec4<u32>(0x0f0f0f0fu);
}

fn scales_of(unit: Unit, run: u32) -> vec2<f32> {
    return group_of(unit.groups, unit.scales, run);
}
