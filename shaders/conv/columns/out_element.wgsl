// Output part: element by element. i counts from the output's first element.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn emit(i: u32, filter_index: u32, v: acc) {
    store1(params.out_offset + i, out_elem(v + bias(filter_index)));
}
