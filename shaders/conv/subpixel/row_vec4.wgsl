// Part of what interleaves phases: four outputs of a row, which has a multiple of four. Requires element, store4.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

const WIDTH: u32 = 4u;

fn write(i: u32, first: u32, x: u32) {
    let v = vec4<acc>(element(first, x), element(first, x + 1u), element(first, x + 2u), element(first, x + 3u));
    store4(params.out_offset + i, vec4<out_elem>(v));
}
