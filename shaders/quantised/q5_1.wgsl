// Format part: Q5_1, 32 elements of 5 bits with a scale and a minimum. A unit is a block: the lower halves of 16 bytes, then the upper
// ones; bit e of a word is the fifth bit of element e.
// Planes: x the lower bits, y the fifth bits, z scale and minimum. Requires planes.wgsl.

const UNIT_VECTORS: u32 = 8u;

struct Unit {
    quants: vec4<u32>,
    high: u32,
    scale: f32,
    least: f32,
}

fn unit_at(i: u32) -> Unit {
    let both = word_at(params.planes.z, i);
    return Unit(
        blocks[params.planes.x + i],
        word_at(params.planes.y, i),
        from_word_scale(both, 0u),
        from_word_scale(both, 1u),
    );
}

// Which vector of four elements of its row vector `q` of unit `i` is.
fn vector_at(i: u32, q: u32) -> u32 {
    return i * UNIT_VECTORS + q;
}

fn vector_of(unit: Unit, q: u32) -> vec4<f32> {
    let low = shifted(unit.quants[q & 3u] >> (q & 4u)) & vec4<u32>(15u);
    let high = (vec4<u32>(unit.high >> (q * 4u)) << vec4<u32>(4u, 3u, 2u, 1u)) & vec4<u32>(16u);
    return unit.scale * vec4<f32>(low | high) + unit.least;
}
