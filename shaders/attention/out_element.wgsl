// Result part: elements one by one. Comes after the cell part of the dtype.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn emit4(line: u32, column: u32, y: vec4<f32>) {
    for (var i = 0u; i < 4u; i++) {
        if column + i < params.value_dim {
            store1(params.out_offset + line * params.value_dim + column + i, y[i]);
        }
    }
}
