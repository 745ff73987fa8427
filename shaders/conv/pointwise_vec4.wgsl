// Operand part: x contiguous along the positions, their number and every channel's start a multiple of four.

@group(0) @binding(1) var<storage, read> a: array<words>;

fn fetch_b4(at: Operands, k: u32, col: u32) -> vec4<acc> {
    if k >= params.k || col >= params.plane {
        return vec4<acc>();
    }
    return unpack(a[(at.x + k * params.x_channel + col) / 4u]);
}

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.filters && col < params.plane {
        emit_vec4((batch * params.filters + row) * params.plane + col, (batch % params.groups) * params.filters + row, v);
    }
}
