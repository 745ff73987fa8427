// Output part: sums of one dispatch of several, each of which goes on with what the one before left.

@group(0) @binding(3) var<storage, read_write> out: array<acc>;

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.m {
        let first = (batch * params.m + row) * params.n + col;
        for (var i = 0u; i < 4u && col + i < params.n; i++) {
            if params.resumed == 1u {
                out[first + i] += v[i];
            } else {
                out[first + i] = v[i];
            }
        }
    }
}
