// Format part: Q5_K, 256 elements of 5 bits; 8 groups of 32 with scales and minima of 6 bits, a scale of each kind. A unit is 16 bytes of
// the lower bits: 16 elements of one group in the lower halves, 16 of the next in the upper ones; bit g of 32 bytes is the fifth bit of group g.
// Planes: x the lower bits, y the fifth bits, z scales and minima of groups, w the scales of these. Requires planes.wgsl, k_groups.wgsl.

const RUNS: u32 = 2u;
const ZERO: f32 = 0.0;
// The largest magnitude of an integer.
const LARGEST: f32 = 31.0;

struct Unit {
    quants: vec4<u32>,
    // Moved so that bit s of each byte is that of group s of the unit.
    high: vec4<u32>,
    groups: u32,
    scales: u32,
}

fn unit_at(i: u32) -> Unit {
    let block = i >> 3u;
    let high = blocks_at(params.planes.y + block * 2u + (i & 1u)) >> vec4<u32>(i & 6u);
    return Unit(blocks_at(params.planes.x + i), high, word_at(params.planes.z, i >> 1u), word_at(params.planes.w, block));
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return (i >> 1u) * 16u + run * 8u + (i & 1u) * 4u;
}

fn bytes_of(unit: Unit, run: u32) -> vec4<u32> {
    let low = (unit.quants >> vec4<u32>(run * 4u)) & vec4<u32>(0x0f0f0f0fu);
    let high = ((unit.high >> vec4<u32>(run)) & vec4<u32>(0x01010101u)) << vec4<u32>(4u);
    return low | high;
}

fn scales_of(unit: Unit, run: u32) -> vec2<f32> {
    return group_of(unit.groups, unit.scales, run);
}
