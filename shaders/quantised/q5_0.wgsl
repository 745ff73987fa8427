// Format part: Q5_0, 32 elements of 5 bits around 16 with a scale. A unit is a block: the lower halves of 16 bytes, then the upper ones;
// bit e of a word is the fifth bit of element e.
// Planes: x the lower bits, y the fifth bits, z the scales. Requires planes.wgsl.

const RUNS: u32 = 2u;
const ZERO: f32 = 16.0;
// The largest magnitude of an integer.
const LARGEST: f32 = 16.0;

struct Unit {
    quants: vec4<u32>,
    high: u32,
    scale: f32,
}

fn unit_at(i: u32) -> Unit {
    return Unit(blocks_at(params.planes.x + i), word_at(params.planes.y, i), half_at(params.planes.z, i));
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return i * 8u + run * 4u;
}

fn bytes_of(unit: Unit, run: u32) -> vec4<u32> {
    let low = (unit.quants >> vec4<u32>(run * 4u)) & vec4<u32>(0x0f0f0f0fu);
    // Four bits of the word become the fifth bits of four bytes.
    let fifths = vec4<u32>(unit.high >> (run * 16u)) >> vec4<u32>(0u, 4u, 8u, 12u);
    let high = ((fifths << vec4<u32>(4u)) & vec4<u32>(0x10u)) | ((fifths << vec4<u32>(11u)) & vec4<u32>(0x1000u))
        | ((fifths << vec4<u32>(18u)) & vec4<u32>(0x100000u)) | ((fifths << vec4<u32>(25u)) & vec4<u32>(0x10000000u));
    return low | high;
}

fn scales_of(unit: Unit, run: u32) -> vec2<f32> {
    return vec2<f32>(unit.scale, 0.0);
}
