// Writing i8 four to a word, wrapping.

alias out_elem = i32;
alias out_words = u32;

fn out_bits(x: out_elem) -> u32 {
    return bitcast<u32>(x) & 0xffu;
}

fn pack(v: vec4<out_elem>) -> out_words {
    return out_bits(v.x) | (out_bits(v.y) << 8u) | (out_bits(v.z) << 16u) | (out_bits(v.w) << 24u);
}

// The first n (1 to 3) elements of `new_words`, the rest of `old_words`.
fn merge(old_words: out_words, new_words: out_words, n: u32) -> out_words {
    let mask = (1u << (n * 8u)) - 1u;
    return (old_words & ~mask) | (new_words & mask);
}
