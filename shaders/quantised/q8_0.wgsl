// Format part: Q8_0, 32 elements of 8 bits with a scale. A unit is half a block.
// Planes: x the integers, y the scales. Requires planes.wgsl.

const RUNS: u32 = 1u;
const ZERO: f32 = 0.0;
// The largest magnitude of an integer.
const LARGEST: f32 = 128.0;

struct Unit {
    quants: vec4<u32>,
    scale: f32,
}

fn unit_at(i: u32) -> Unit {
    return Unit(blocks_at(params.planes.x + i), half_at(params.planes.y, i >> 1u));
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return i * 4u + run * 4u;
}

// Integers with a sign are converted: of 16 per 16 bytes there are few enough.
fn integers_of(unit: Unit, run: u32, zero: f32) -> Run {
    return Run(
        signed_bytes(unit.quants.x),
        signed_bytes(unit.quants.y),
        signed_bytes(unit.quants.z),
        signed_bytes(unit.quants.w),
    );
}

// The bytes of a word with their signs.
fn signed_bytes(w: u32) -> vec4<f32> {
    return vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(w) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u));
}

fn scales_of(unit: Unit, run: u32) -> vec2<f32> {
    return vec2<f32>(unit.scale, 0.0);
}
