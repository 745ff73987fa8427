// Format part: Q8_0, 32 elements of 8 bits with a scale. A unit is half a block.
// Planes: x the integers, y the scales. Requires planes.wgsl.

const UNIT_VECTORS: u32 = 4u;

struct Unit {
    quants: vec4<u32>,
    scale: f32,
}

fn unit_at(i: u32) -> Unit {
    return Unit(blocks[params.planes.x + i], half_at(params.planes.y, i >> 1u));
}

// Which vector of four elements of its row vector `q` of unit `i` is.
fn vector_at(i: u32, q: u32) -> u32 {
    return i * UNIT_VECTORS + q;
}

fn vector_of(unit: Unit, q: u32) -> vec4<f32> {
    return unit.scale * vec4<f32>(signed_bytes(unit.quants[q]));
}
