// Output part: positions as i32.

@group(0) @binding(2) var<storage, read_write> out: array<i32>;

fn emit(i: u32, k: key, at: u32) {
    out[params.out_offset + i] = i32(at);
}
