// Format part: Q5_K, 256 elements of 5 bits; 8 groups of 32 with scales and minima of 6 bits, a scale of each kind. A unit is 16 bytes of
// the lower bits: 16 elements of one group in the lower halves, 16 of the next in the upper ones; bit g of 32 bytes is the fifth bit of group g.
// Planes: x the lower bits, y the fifth bits, z the headers. Requires planes.wgsl, k_groups.wgsl.

const UNIT_VECTORS: u32 = 8u;

struct Unit {
    quants: vec4<u32>,
    // Moved so that bit s of each byte is that of group s of the unit.
    high: vec4<u32>,
    groups: Groups,
}

fn unit_at(i: u32) -> Unit {
    let block = i >> 3u;
    let pair = (i >> 1u) & 3u;
    let high = blocks[params.planes.y + block * 2u + (i & 1u)] >> vec4<u32>(pair * 2u);
    return Unit(blocks[params.planes.x + i], high, groups_of(blocks[params.planes.z + block], pair));
}

// Which vector of four elements of its row vector `q` of unit `i` is.
fn vector_at(i: u32, q: u32) -> u32 {
    return (i >> 1u) * 16u + (q >> 2u) * 8u + (i & 1u) * 4u + (q & 3u);
}

fn vector_of(unit: Unit, q: u32) -> vec4<f32> {
    let low = shifted(unit.quants[q & 3u] >> (q & 4u)) & vec4<u32>(15u);
    let high = (shifted(unit.high[q & 3u] >> (q >> 2u)) & vec4<u32>(1u)) << vec4<u32>(4u);
    return unit.groups.scale[q >> 2u] * vec4<f32>(low | high) - unit.groups.least[q >> 2u];
}
