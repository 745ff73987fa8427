// Output part of the dot kernel: accumulators, to be added by a reduction.

@group(0) @binding(3) var<storage, read_write> out: array<acc>;

fn emit(i: u32, v: acc) {
    out[i] = v;
}
