// Format part: Q2_K, 256 elements of 2 bits; 16 groups of 16 with scales and minima of 4 bits, a scale of each kind. A unit is 16 bytes
// of integers: 16 elements of each of four groups, bits 0 and 1, 2 and 3, and so on.
// Planes: x the integers, y scales and minima of groups, z their scales. Requires planes.wgsl.

const RUNS: u32 = 4u;
const ZERO: f32 = 0.0;
// The largest magnitude of an integer.
const LARGEST: f32 = 3.0;

struct Unit {
    quants: vec4<u32>,
    // Of the 128 elements that these are among, moved so that its own groups are bytes 0 and 2.
    groups: vec2<u32>,
    scale: f32,
    least: f32,
}

fn unit_at(i: u32) -> Unit {
    let block = i >> 2u;
    let groups = blocks_at(params.planes.y + block);
    let own = select(groups.zw, groups.xy, (i & 2u) == 0u);
    let both = word_at(params.planes.z, block);
    return Unit(
        blocks_at(params.planes.x + i),
        own >> vec2<u32>((i & 1u) * 8u),
        from_word_scale(both, 0u),
        from_word_scale(both, 1u),
    );
}

// Which vector of four elements of its row run `run` of unit `i` begins with.
fn run_at(i: u32, run: u32) -> u32 {
    return (i >> 1u) * 32u + run * 8u + (i & 1u) * 4u;
}

fn bytes_of(unit: Unit, run: u32) -> vec4<u32> {
    return (unit.quants >> vec4<u32>(run * 2u)) & vec4<u32>(0x03030303u);
}

// Of group `run`.
fn scales_of(unit: Unit, run: u32) -> vec2<f32> {
    let both = select(unit.groups.y, unit.groups.x, run < 2u) >> ((run & 1u) * 16u);
    return vec2<f32>(unit.scale * f32(both & 15u), -unit.least * f32((both >> 4u) & 15u) / MULTIPLE);
}
