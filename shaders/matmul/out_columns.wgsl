// Output part: of a transposed result, whose rows are columns of the output, element by element, any extents and offset.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.m {
        let first = params.out_offset + (batch * params.n + col) * params.m + row;
        for (var i = 0u; i < 4u && col + i < params.n; i++) {
            store1(first + i * params.m, out_elem(v[i]));
        }
    }
}
