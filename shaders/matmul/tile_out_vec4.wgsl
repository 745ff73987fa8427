// Output part: four elements at a time; n and the offset are multiples of four.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.m && col < params.n {
        store4(params.out_offset + (batch * params.m + row) * params.n + col, vec4<out_elem>(v));
    }
}
