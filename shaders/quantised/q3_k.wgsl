// Format part: Q3_K, 256 elements of 3 bits; 16 groups of 16 with scales of 6 bits around 32, and their scale. A unit is 16 bytes of the
// lower bits: 16 elements of each of four groups, bits 0 and 1, 2 and 3, and so on. A third bit that is not set takes 4 away.
// Planes: x the lower bits, y the third bits, z the groups' scales, w their scale. Requires planes.wgsl.

const RUNS: u32 = 4u;
const ZERO: f32 = 4.0;
// The largest magnitude of an integer.
const LARGEST: f32 = 4.0;

struct Unit {
    quants: vec4<u32>,
    // Moved so that bit s of each byte is that of group s of the unit.
    high: vec4<u32>,
    // The lower four bits of the groups' scales of these 128 elements, the upper two of all; moved so that its own are bytes 0 and 2.
    low_scales: vec2<u32>,
    high_scales: u32,
    scale: f32,
}

fn unit_at(i: u32) -> Unit {
    let block = i >> 2u;
    let second = (i >> 1u) & 1u;
    let odd = (i & 1u) * 8u;
    let first = block * 3u;
    let low = vec2<u32>(word_at(params.planes.z, first), word_at(params.planes.z, first + 1u));
    return Unit(
        blocks_at(params.planes.x + i),
        blocks_at(params.planes.y + block * 2u + (i & 1u)) >> vec4<u32>(second * 4u),
        low >> vec2<u32>(odd + second * 4u),
        word_at(params.planes.z, first + 2u) >> (odd + second * 4u),
        half_at(params.planes.w, block),
    );
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return (i >> 1u) * 32u + run * 8u + (i & 1u) * 4u;
}

fn bytes_of(unit: Unit, run: u32) -> vec4<u32> {
    let low = (unit.quants >> vec4<u32>(run * 2u)) & vec4<u32>(0x03030303u);
    let high = ((unit.high >> vec4<u32>(run)) & vec4<u32>(0x01010101u)) << vec4<u32>(2u);
    return low | high;
}

fn scales_of(unit: Unit, run: u32) -> vec2<f32> {
    let byte = (run & 1u) * 16u;
    let low = (select(unit.low_scales.y, unit.low_scales.x, run < 2u) >> byte) & 15u;
    let high = ((unit.high_scales >> byte) >> (run & 2u)) & 3u;
    return vec2<f32>(unit.scale * (f32(low | (high << 4u)) - 32.0), 0.0);
}
