// Reading u32: one element per word.

alias elem = u32;
alias word = u32;
alias words = vec4<u32>;

fn unpack(w: words) -> vec4<elem> {
    return w;
}

fn word_index(i: u32) -> u32 {
    return i;
}

fn from_word(w: word, i: u32) -> elem {
    return w;
}

fn elem_is_nan(x: elem) -> bool {
    return false;
}
