// Format part: Q4_0, 32 elements of 4 bits around 8 with a scale. A unit is a block: the lower halves of 16 bytes, then the upper ones.
// Planes: x the integers, y the scales. Requires planes.wgsl.

const RUNS: u32 = 2u;
const ZERO: f32 = 8.0;
// The largest magnitude of an integer.
const LARGEST: f32 = 8.0;

struct Unit {
    quants: vec4<u32>,
    scale: f32,
}

fn unit_at(i: u32) -> Unit {
    return Unit(blocks_at(params.planes.x + i), half_at(params.planes.y, i));
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return i * 8u + run * 4u;
}

fn bytes_of(unit: Unit, run: u32) -> vec4<u32> {
    return (unit.quants >> vec4<u32>(run * 4u)) & vec4<u32>(0x0f0f0f0fu);
}

fn scales_of(unit: Unit, run: u32) -> vec2<f32> {
    return vec2<f32>(unit.scale, 0.0);
}
