// Reading u8 from 32-bit words of four, computed in u32.

alias elem = u32;
alias word = u32;
alias words = u32;

fn unpack(w: words) -> vec4<elem> {
    return (vec4<u32>(w) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu);
}

fn word_index(i: u32) -> u32 {
    return i >> 2u;
}

fn from_word(w: word, i: u32) -> elem {
    return (w >> ((i & 3u) * 8u)) & 0xffu;
}

fn elem_is_nan(x: elem) -> bool {
    return false;
}
