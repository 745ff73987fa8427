// Result part: rows of whole vectors. Comes after the vector part of the dtype.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn emit4(line: u32, column: u32, y: vec4<f32>) {
    if column < params.value_dim {
        store4(params.out_offset + line * params.value_dim + column, y);
    }
}
