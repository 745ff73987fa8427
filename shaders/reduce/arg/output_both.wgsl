// Output part: the extreme values, and their positions as i32 from element `count` of a second output.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;
@group(0) @binding(3) var<storage, read_write> out_1: array<i32>;

fn emit(i: u32, k: key, at: u32) {
    store1(params.out_offset + i, from_tie_key(k));
    out_1[params.count + i] = i32(at);
}
