// Filter part: elements of w with any strides.

@group(0) @binding(2) var<storage, read> b: array<word>;

fn filter_tap(i: u32) -> acc {
    return from_word(b[word_index(i)], i);
}
