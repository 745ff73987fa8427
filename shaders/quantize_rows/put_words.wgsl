// Put part: rows of integers that fill whole words. Requires: store4 of whole words.

fn put(base: u32, first: u32, v: vec4<i32>) {
    store4(base + first, v);
}
