// Output part: as out_share.wgsl, four neighbours of one output channel at a time; i is a multiple of four.

@group(0) @binding(3) var<storage, read_write> out: array<vec4<acc>>;

fn emit_vec4(i: u32, filter_index: u32, v: vec4<acc>) {
    let of_filter = bias(min(filter_index, filters() - 1u));
    out[i / 4u] = v + select(acc(), of_filter, filter_index < filters());
}
