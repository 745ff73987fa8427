// Part of what interleaves phases: one output. Requires place, element, store1.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

const WIDTH: u32 = 1u;

fn write(i: u32, first: u32, x: u32) {
    store1(params.out_offset + i, out_elem(element(first, place(x))));
}
