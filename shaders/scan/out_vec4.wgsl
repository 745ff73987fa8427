// Output part: finished values, four at a time, where rows of results lie in memory in whole vectors. Requires: store4; finish (operator
// part); REVERSE.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn put4(base: u32, r: u32, end: u32, y: acc4) {
    if r < end {
        let v = vec4<out_elem>(finish(y[0]), finish(y[1]), finish(y[2]), finish(y[3]));
        if REVERSE {
            store4(params.out_offset + base + (params.len - 4u - r), v.wzyx);
        } else {
            store4(params.out_offset + base + r, v);
        }
    }
}
