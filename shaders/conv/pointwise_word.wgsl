// Operand part: x at one stride along the positions, word by word.

fn fetch_b(at: Operands, k: u32, col: u32) -> acc {
    if col >= params.plane {
        return acc();
    }
    return image(at.x + k * params.x_channel + col * params.x_steps.z);
}

fn fetch_b4(at: Operands, k: u32, col: u32) -> vec4<acc> {
    if k >= params.k {
        return vec4<acc>();
    }
    return vec4<acc>(fetch_b(at, k, col), fetch_b(at, k, col + 1u), fetch_b(at, k, col + 2u), fetch_b(at, k, col + 3u));
}

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.filters {
        let filter_index = (batch % params.groups) * params.filters + row;
        for (var i = 0u; i < 4u && col + i < params.plane; i++) {
            emit((batch * params.filters + row) * params.plane + col + i, filter_index, v[i]);
        }
    }
}
