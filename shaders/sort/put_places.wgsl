// Output part: places.

@group(0) @binding(2) var<storage, read_write> out: array<u32>;

fn put(i: u32, ordered: u32, place: u32) {
    out[params.offset_out + i] = place;
}
