// Reading bf16 from pairs in 32-bit words, computed in f32: a bf16 is the upper half of an f32.

alias elem = f32;
alias word = u32;
alias words = vec2<u32>;

fn unpack(w: words) -> vec4<elem> {
    return bitcast<vec4<f32>>(vec4<u32>(w.x << 16u, w.x & 0xffff0000u, w.y << 16u, w.y & 0xffff0000u));
}

fn has_nan(w: words) -> bool {
    let above = (w & vec2<u32>(0x7fff7fffu)) + vec2<u32>(0x007f007fu);
    return ((above.x | above.y) & 0x80008000u) != 0u;
}

fn word_index(i: u32) -> u32 {
    return i >> 1u;
}

fn from_word(w: word, i: u32) -> elem {
    return bitcast<f32>((w >> ((i & 1u) * 16u)) << 16u);
}

fn elem_is_nan(x: elem) -> bool {
    return is_nan(x);
}
