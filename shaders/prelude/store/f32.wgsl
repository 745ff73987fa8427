// Writing f32: one element per word.

alias out_elem = f32;
alias out_words = vec4<f32>;

fn pack(v: vec4<out_elem>) -> out_words {
    return v;
}

fn pack_numbers(v: vec4<out_elem>) -> out_words {
    return v;
}

// The first n (1 to 3) elements of `new_words`, the rest of `old_words`.
fn merge(old_words: out_words, new_words: out_words, n: u32) -> out_words {
    return select(old_words, new_words, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(n));
}
