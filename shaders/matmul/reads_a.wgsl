// Operand part: a is read as elements of the dtype that products are computed in.

alias word_a = word;
alias words_a = words;

fn unpack_a(w: words) -> vec4<elem> {
    return unpack(w);
}

fn word_index_a(i: u32) -> u32 {
    return word_index(i);
}

fn from_word_a(w: word, i: u32) -> elem {
    return from_word(w, i);
}
