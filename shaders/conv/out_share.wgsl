// Output part: sums of shares of the channels, which are added afterwards; the first share has the bias. Requires filters, bias.

@group(0) @binding(3) var<storage, read_write> out: array<acc>;

fn emit(i: u32, filter_index: u32, v: acc) {
    let of_filter = bias(min(filter_index, filters() - 1u));
    out[i] = v + select(acc(), of_filter, filter_index < filters());
}
