// Operand part of few.wgsl and lanes.wgsl: keys and values of 16-bit floats that lie so that eight neighbouring elements are one load.

@group(0) @binding(3) var<storage, read> b: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> c: array<vec4<u32>>;

// Eight elements as they lie in memory.
alias Packed = vec4<u32>;

fn oct_of(w: Packed) -> Oct {
    return Oct(unpack(w.xy), unpack(w.zw));
}

fn key_oct(at: u32) -> Packed {
    return b[at / 8u];
}

fn value_oct(at: u32) -> Packed {
    return c[at / 8u];
}
