// Row part: the elements of a window's row one by one. Requires combine (window part).

@group(0) @binding(1) var<storage, read> a: array<word>;

// Of the row that begins at `first`, whose elements have numbers from `place` on.
fn along(before: acc, first: u32, width: Range, place: u32) -> acc {
    var v = before;
    for (var kw = params.first_tap.z; kw < min(width.taps, params.end_tap.z); kw++) {
        let x = width.first + kw * width.step;
        if x < params.extent.z {
            let i = first + x * params.steps.z;
            v = combine(v, from_word(a[word_index(i)], i), place + x);
        }
    }
    return v;
}
