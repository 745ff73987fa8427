// Operand part: b is read as elements of the dtype that products are computed in.

alias word_b = word;
alias words_b = words;

fn unpack_b(w: words) -> vec4<elem> {
    return unpack(w);
}

fn word_index_b(i: u32) -> u32 {
    return word_index(i);
}

fn from_word_b(w: word, i: u32) -> elem {
    return from_word(w, i);
}
