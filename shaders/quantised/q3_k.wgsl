// Format part: Q3_K, 256 elements of 3 bits; 16 groups of 16 with scales of 6 bits around 32, and their scale. A unit is 16 bytes of the
// lower bits: 16 elements of each of four groups, bits 0 and 1, 2 and 3, and so on. A third bit that is not set takes 4 away.
// Planes: x the lower bits, y the third bits, z the groups' scales, w their scale. Requires planes.wgsl.

const UNIT_VECTORS: u32 = 16u;

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
        blocks[params.planes.x + i],
        blocks[params.planes.y + block * 2u + (i & 1u)] >> vec4<u32>(second * 4u),
        low >> vec2<u32>(odd + second * 4u),
        word_at(params.planes.z, first + 2u) >> (odd + second * 4u),
        half_at(params.planes.w, block),
    );
}

// Which vector of four elements of its row vector `q` of unit `i` is.
fn vector_at(i: u32, q: u32) -> u32 {
    return (i >> 1u) * 32u + (q >> 2u) * 8u + (i & 1u) * 4u + (q & 3u);
}

fn vector_of(unit: Unit, q: u32) -> vec4<f32> {
    let s = q >> 2u;
    let byte = (s & 1u) * 16u;
    let low_scale = (unit.low_scales[s >> 1u] >> byte) & 15u;
    let high_scale = ((unit.high_scales >> byte) >> ((s >> 1u) * 2u)) & 3u;
    let scale = unit.scale * (f32(low_scale | (high_scale << 4u)) - 32.0);
    let low = shifted(unit.quants[q & 3u] >> (s * 2u)) & vec4<u32>(3u);
    let high = (shifted(unit.high[q & 3u] >> s) & vec4<u32>(1u)) << vec4<u32>(2u);
    return scale * (vec4<f32>(low | high) - 4.0);
}
