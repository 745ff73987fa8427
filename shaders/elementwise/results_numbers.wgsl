// The results of four elements, packed, by functions that are not asked for NaN: one test for all four takes fewer instructions.
// Requires elem, words, has_nan; out_elem, out_words, pack, pack_numbers; apply; numbers_of (body).

fn results(w: words) -> out_words {
    let x = numbers_of(w);
    let y = vec4<out_elem>(apply(x.x), apply(x.y), apply(x.z), apply(x.w));
    if has_nan(w) {
        return pack(select(y, x, vec4<bool>(is_nan(x.x), is_nan(x.y), is_nan(x.z), is_nan(x.w))));
    }
    return pack_numbers(y);
}
