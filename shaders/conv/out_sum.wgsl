// Output part: sums of one dispatch of several, each of which goes on with what the one before left. The first has the bias.

@group(0) @binding(3) var<storage, read_write> out: array<acc>;

fn emit(i: u32, filter_index: u32, v: acc) {
    if params.resumed == 1u {
        out[i] += v;
    } else {
        out[i] = v + bias(filter_index);
    }
}
