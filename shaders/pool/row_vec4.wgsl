// Row part: the elements of a window's row, dense and of whole vectors, all within the input. Requires combine (window part).

@group(0) @binding(1) var<storage, read> a: array<words>;

// Of the row that begins at `first`, whose elements have numbers from `place` on.
fn along(before: acc, first: u32, width: Range, place: u32) -> acc {
    var v = before;
    for (var x = width.first; x < width.first + width.taps; x += 4u) {
        let four = unpack(a[(first + x) / 4u]);
        v = combine(combine(v, four.x, place + x), four.y, place + x + 1u);
        v = combine(combine(v, four.z, place + x + 2u), four.w, place + x + 3u);
    }
    return v;
}
