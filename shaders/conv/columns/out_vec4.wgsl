// Output part: four neighbours of one output channel at a time; i and the offset are multiples of four.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn emit_vec4(i: u32, filter_index: u32, v: vec4<acc>) {
    store4(params.out_offset + i, vec4<out_elem>(v + bias(filter_index)));
}
