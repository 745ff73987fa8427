// Output part: the variances of all outputs, then the means of all outputs.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn emit(i: u32, v: acc) {
    store1(params.out_offset + i, finish(v));
    store1(params.out_offset + params.outputs + i, finish_mean(v));
}
