// Writing four neighbouring elements of `out`, the first at a multiple of four. Comes after a store part.

alias cell = out_words;

fn store4(i: u32, v: vec4<out_elem>) {
    out[i / 4u] = pack(v);
}
