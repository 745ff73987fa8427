// Output part: 16-bit elements, up to four neighbours of a row, any n and offset. Words that are theirs alone take one access each,
// where each element that shares one takes two. Requires pack (store part), store1 (cell part).

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.m && col < params.n {
        let first = params.out_offset + (batch * params.m + row) * params.n + col;
        let y = vec4<out_elem>(v);
        if params.n - col < 4u {
            for (var i = 0u; col + i < params.n; i++) {
                store1(first + i, y[i]);
            }
        } else if first % 2u == 0u {
            let words = pack(y);
            atomicStore(&out[first / 2u], words.x);
            atomicStore(&out[first / 2u + 1u], words.y);
        } else {
            store1(first, y.x);
            atomicStore(&out[first / 2u + 1u], pack(y.yzww).x);
            store1(first + 3u, y.w);
        }
    }
}
