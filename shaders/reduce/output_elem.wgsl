// Output part: finished values in the output's dtype.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn emit(i: u32, v: acc) {
    store1(params.out_offset + i, finish(v));
}
