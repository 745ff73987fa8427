// Reading f32: one element per word.

alias elem = f32;
alias word = f32;
alias words = vec4<f32>;

fn unpack(w: words) -> vec4<elem> {
    return w;
}

// Or infinities of both signs: whoever asks looks at each of them then.
fn has_nan(w: words) -> bool {
    return is_nan((w.x + w.y) + (w.z + w.w));
}

fn word_index(i: u32) -> u32 {
    return i;
}

fn from_word(w: word, i: u32) -> elem {
    return w;
}

fn elem_is_nan(x: elem) -> bool {
    return is_nan(x);
}
