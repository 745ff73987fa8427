// Format part: Q2_K, 256 elements of 2 bits; 16 groups of 16 with scales and minima of 4 bits, a scale of each kind. A unit is 16 bytes
// of integers: 16 elements of each of four groups, bits 0 and 1, 2 and 3, and so on.
// Planes: x the integers, y scales and minima of groups, z their scales. Requires planes.wgsl.

const UNIT_VECTORS: u32 = 16u;

struct Unit {
    quants: vec4<u32>,
    // Of the 128 elements that these are among, moved so that its own groups are bytes 0 and 2.
    groups: vec2<u32>,
    scale: f32,
    least: f32,
}

fn unit_at(i: u32) -> Unit {
    let block = i >> 2u;
    let groups = blocks[params.planes.y + block];
    let own = select(groups.zw, groups.xy, (i & 2u) == 0u);
    let both = word_at(params.planes.z, block);
    return Unit(
        blocks[params.planes.x + i],
        own >> vec2<u32>((i & 1u) * 8u),
        from_word_scale(both, 0u),
        from_word_scale(both, 1u),
    );
}

// Which vector of four elements of its row vector `q` of unit `i` is.
fn vector_at(i: u32, q: u32) -> u32 {
    return (i >> 1u) * 32u + (q >> 2u) * 8u + (i & 1u) * 4u + (q & 3u);
}

fn vector_of(unit: Unit, q: u32) -> vec4<f32> {
    let group = unit.groups[q >> 3u] >> ((q & 4u) * 4u);
    let scale = unit.scale * f32(group & 15u);
    let least = unit.least * f32((group >> 4u) & 15u);
    let low = shifted(unit.quants[q & 3u] >> ((q >> 2u) * 2u)) & vec4<u32>(3u);
    return scale * vec4<f32>(low) - least;
}
