// Output part: finished values, one by one. Requires: store1; finish (operator part); REVERSE.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn put(base: u32, r: u32, end: u32, y: acc) {
    if r < end {
        var at = r;
        if REVERSE {
            at = params.len - 1u - r;
        }
        store1(params.out_offset + base + at * params.count, finish(y));
    }
}

fn put4(base: u32, r: u32, end: u32, y: acc4) {
    put(base, r, end, y[0]);
    put(base, r + 1u, end, y[1]);
    put(base, r + 2u, end, y[2]);
    put(base, r + 3u, end, y[3]);
}
