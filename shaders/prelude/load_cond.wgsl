// Reading a bool operand beside operands of another dtype.

alias cond_words = u32;

fn unpack_cond(w: cond_words) -> vec4<bool> {
    return ((vec4<u32>(w) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu)) != vec4<u32>(0u);
}

fn cond_word_index(i: u32) -> u32 {
    return i >> 2u;
}

fn cond_from_word(w: u32, i: u32) -> bool {
    return ((w >> ((i & 3u) * 8u)) & 0xffu) != 0u;
}
