// Put part: rows of integers that begin or end within a word, or with other elements between theirs. Requires: store1.

fn put(base: u32, first: u32, v: vec4<i32>) {
    for (var k = 0u; k < 4u && first + k < params.len; k++) {
        store1(base + (first + k) * params.out_strides.w, v[k]);
    }
}
