// Format part: Q4_K, 256 elements of 4 bits; 8 groups of 32 with scales and minima of 6 bits, a scale of each kind. A unit is 16 bytes of
// integers: 16 elements of one group in the lower halves, 16 of the next in the upper ones.
// Planes: x the integers, y the headers. Requires planes.wgsl, k_groups.wgsl.

const UNIT_VECTORS: u32 = 8u;

struct Unit {
    quants: vec4<u32>,
    groups: Groups,
}

fn unit_at(i: u32) -> Unit {
    let header = blocks[params.planes.y + (i >> 3u)];
    return Unit(blocks[params.planes.x + i], groups_of(header, (i >> 1u) & 3u));
}

// Which vector of four elements of its row vector `q` of unit `i` is.
fn vector_at(i: u32, q: u32) -> u32 {
    return (i >> 1u) * 16u + (q >> 2u) * 8u + (i & 1u) * 4u + (q & 3u);
}

fn vector_of(unit: Unit, q: u32) -> vec4<f32> {
    let low = shifted(unit.quants[q & 3u] >> (q & 4u)) & vec4<u32>(15u);
    return unit.groups.scale[q >> 2u] * vec4<f32>(low) - unit.groups.least[q >> 2u];
}
