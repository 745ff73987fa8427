// Operand part of few.wgsl and lanes.wgsl: keys and values of i8 that lie so that eight neighbouring elements are one load. Scores and
// weights are multiplied by their factors, so what passes through registers are the integers. Requires unpack_i8.

@group(0) @binding(3) var<storage, read> b: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> c: array<vec2<u32>>;

// Eight elements as they lie in memory.
alias Packed = vec2<u32>;

fn oct_of(w: Packed) -> Oct {
    return Oct(vec4<f32>(unpack_i8(w.x)), vec4<f32>(unpack_i8(w.y)));
}

fn key_oct(at: u32) -> Packed {
    return b[at / 8u];
}

fn value_oct(at: u32) -> Packed {
    return c[at / 8u];
}
