// Part of what interleaves phases: four outputs of a row, which has a multiple of four. Requires place, behind, element, store4.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

const WIDTH: u32 = 4u;

fn write(i: u32, first: u32, x: u32) {
    let at_0 = place(x);
    let at_1 = behind(at_0);
    let at_2 = behind(at_1);
    let at_3 = behind(at_2);
    let v = vec4<acc>(element(first, at_0), element(first, at_1), element(first, at_2), element(first, at_3));
    store4(params.out_offset + i, vec4<out_elem>(v));
}
