// Output part: accumulators for a later pass.

@group(0) @binding(2) var<storage, read_write> out: array<acc>;

fn emit(i: u32, v: acc) {
    out[i] = v;
}
