// Reading 16-bit elements as bare bits, for moves that must not change a NaN's payload.

alias elem = u32;
alias word = u32;
alias words = vec2<u32>;

fn unpack(w: words) -> vec4<elem> {
    return vec4<elem>(w.x & 0xffffu, w.x >> 16u, w.y & 0xffffu, w.y >> 16u);
}

fn word_index(i: u32) -> u32 {
    return i >> 1u;
}

fn from_word(w: word, i: u32) -> elem {
    return (w >> ((i & 1u) * 16u)) & 0xffffu;
}
