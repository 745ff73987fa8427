// Input part: x with any strides, word by word.

@group(0) @binding(1) var<storage, read> a: array<word>;

fn image(i: u32) -> acc {
    return from_word(a[word_index(i)], i);
}
