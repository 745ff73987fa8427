// Output part of the dot kernel: elements of the output's dtype.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

fn emit(i: u32, v: acc) {
    store1(params.out_offset + i, out_elem(v));
}
