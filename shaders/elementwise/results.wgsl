// The results of four elements, packed. Requires elem, words; out_elem, out_words, pack; apply; numbers_of (body).

fn results(w: words) -> out_words {
    let x = numbers_of(w);
    return pack(vec4<out_elem>(apply(x.x), apply(x.y), apply(x.z), apply(x.w)));
}
