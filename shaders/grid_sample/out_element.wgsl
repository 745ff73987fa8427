// Output part: element by element.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

fn emit(i: u32, v: out_elem) {
    store1(params.out_offset + i, v);
}
