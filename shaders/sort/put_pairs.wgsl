// Output part: keys and places for the next sort of blocks.

@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@group(0) @binding(4) var<storage, read_write> out_0: array<u32>;

fn put(i: u32, ordered: u32, place: u32) {
    out[i] = place;
    out_0[i] = ordered;
}
