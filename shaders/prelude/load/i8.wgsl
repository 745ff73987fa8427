// Reading i8 from 32-bit words of four, computed in i32.

alias elem = i32;
alias word = u32;
alias words = u32;

fn unpack(w: words) -> vec4<elem> {
    return bitcast<vec4<i32>>(vec4<u32>(w) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}

fn word_index(i: u32) -> u32 {
    return i >> 2u;
}

fn from_word(w: word, i: u32) -> elem {
    return bitcast<i32>(w << (24u - (i & 3u) * 8u)) >> 24u;
}

fn elem_is_nan(x: elem) -> bool {
    return false;
}
