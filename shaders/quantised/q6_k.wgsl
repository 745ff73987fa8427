// Format part: Q6_K, 256 elements of 6 bits around 32; 16 groups of 16 with scales of 8 bits, and their scale. A unit is 16 bytes of the
// lower bits: a group in the lower halves, in the upper ones the group 64 elements behind.
// Planes: x the lower bits, y the upper two, z the groups' scales and 128, a word for two units, w their scale. Requires planes.wgsl.

const RUNS: u32 = 2u;
const ZERO: f32 = 32.0;
// The largest magnitude of an integer.
const LARGEST: f32 = 32.0;

struct Unit {
    quants: vec4<u32>,
    // Moved so that bits 0 and 1 of each byte are those of the first group, 4 and 5 those of the second.
    high: vec4<u32>,
    // Moved so that bytes 0 and 2 are its own.
    groups: u32,
    scale: f32,
}

fn unit_at(i: u32) -> Unit {
    let block = i >> 3u;
    let half = (i >> 2u) & 1u;
    let high = blocks_at(params.planes.y + block * 4u + half * 2u + (i & 1u)) >> vec4<u32>(i & 2u);
    let groups = word_at(params.planes.z, i >> 1u) >> ((i & 1u) * 8u);
    return Unit(blocks_at(params.planes.x + i), high, groups, half_at(params.planes.w, block));
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return (i >> 2u) * 32u + run * 16u + (i & 3u) * 4u;
}

fn bytes_of(unit: Unit, run: u32) -> vec4<u32> {
    let low = (unit.quants >> vec4<u32>(run * 4u)) & vec4<u32>(0x0f0f0f0fu);
    let high = ((unit.high >> vec4<u32>(run * 4u)) & vec4<u32>(0x03030303u)) << vec4<u32>(4u);
    return low | high;
}

fn scales_of(unit: Unit, run: u32) -> vec2<f32> {
    let scales = small_of(unit.groups).xz - 7.62939453125e-6;
    return vec2<f32>(select(scales.y, scales.x, run == 0u) * (unit.scale * 16777216.0), 0.0);
}
