// Reading f16 as the device's own type, computed in f32. For devices whose matrix units read it likewise. Needs `enable f16`.

alias elem = f32;
alias word = f16;
alias words = vec4<f16>;

fn unpack(w: words) -> vec4<elem> {
    return vec4<f32>(w);
}

fn word_index(i: u32) -> u32 {
    return i;
}

fn from_word(w: word, i: u32) -> elem {
    return f32(w);
}
