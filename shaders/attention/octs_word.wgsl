// Operand part of few.wgsl and lanes.wgsl: keys and values of f32 that lie so that eight neighbouring elements are two loads.

@group(0) @binding(3) var<storage, read> b: array<words>;
@group(0) @binding(4) var<storage, read> c: array<words>;

// Eight elements as they lie in memory.
alias Packed = Oct;

fn oct_of(w: Packed) -> Oct {
    return w;
}

fn key_oct(at: u32) -> Packed {
    return Oct(unpack(b[at / 4u]), unpack(b[at / 4u + 1u]));
}

fn value_oct(at: u32) -> Packed {
    return Oct(unpack(c[at / 4u]), unpack(c[at / 4u + 1u]));
}
