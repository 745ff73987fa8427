// Output part: accumulators for a later pass.

@group(0) @binding(2) var<storage, read_write> out: array<acc>;

fn put4(base: u32, r: u32, end: u32, y: acc4) {
    for (var i = 0u; i < 4u; i++) {
        if r + i < end {
            out[base + r + i] = y[i];
        }
    }
}
