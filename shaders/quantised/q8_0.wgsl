// Format part: Q8_0, 32 elements of 8 bits with a scale. A unit is half a block.
// Planes: x the integers, y the scales. Requires planes.wgsl.

const RUNS: u32 = 1u;

struct Unit {
    quants: vec4<u32>,
    scale: f32,
}

fn unit_at(i: u32) -> Unit {
    return Unit(blocks[params.planes.x + i], half_at(params.planes.y, i >> 1u));
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return i * 4u + run * 4u;
}

fn run_of(unit: Unit, run: u32) -> Run {
    // Less 128 they have a sign.
    return scaled(unit.scale, unit.quants ^ vec4<u32>(0x80808080u), 128.0);
}
