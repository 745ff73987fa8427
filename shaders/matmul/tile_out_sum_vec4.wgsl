// Output part: as tile_out_sum.wgsl, four at a time; n is a multiple of four.

@group(0) @binding(3) var<storage, read_write> out: array<vec4<acc>>;

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.m && col < params.n {
        let at = ((batch * params.m + row) * params.n + col) / 4u;
        if params.resumed == 1u {
            out[at] += v;
        } else {
            out[at] = v;
        }
    }
}
