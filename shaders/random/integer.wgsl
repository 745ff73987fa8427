// Integers from `low` on, `count` of them: the upper word of a product, so that some of them are more probable than others
// by at most count / 2^32.
// Accuracy: exact.

fn scaled(word: u32) -> out_elem {
    return bitcast<out_elem>(params.low + wide_product(word, params.count).y);
}

fn drawn(words: vec4<u32>) -> vec4<out_elem> {
    return vec4<out_elem>(scaled(words.x), scaled(words.y), scaled(words.z), scaled(words.w));
}
