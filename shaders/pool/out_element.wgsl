// Output part: finished windows, element by element.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn ended(i: u32, v: acc, count: u32) {
    store1(params.out_offset + i, finish(v, count));
}
