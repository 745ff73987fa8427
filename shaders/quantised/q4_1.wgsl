// Format part: Q4_1, 32 elements of 4 bits with a scale and a minimum. A unit is a block: the lower halves of 16 bytes, then the upper ones.
// Planes: x the integers, y scale and minimum. Requires planes.wgsl.

const UNIT_VECTORS: u32 = 8u;

struct Unit {
    quants: vec4<u32>,
    scale: f32,
    least: f32,
}

fn unit_at(i: u32) -> Unit {
    let both = word_at(params.planes.y, i);
    return Unit(blocks[params.planes.x + i], from_word_scale(both, 0u), from_word_scale(both, 1u));
}

// Which vector of four elements of its row vector `q` of unit `i` is.
fn vector_at(i: u32, q: u32) -> u32 {
    return i * UNIT_VECTORS + q;
}

fn vector_of(unit: Unit, q: u32) -> vec4<f32> {
    let low = shifted(unit.quants[q & 3u] >> (q & 4u)) & vec4<u32>(15u);
    return unit.scale * vec4<f32>(low) + unit.least;
}
