// Input part: elements of the tensor; the position is the place in the reduced axes.

@group(0) @binding(1) var<storage, read> a: array<word>;

fn fetch_key(i: u32) -> key {
    return tie_key(from_word(a[word_index(i)], i));
}

fn fetch_position(i: u32, r: u32) -> u32 {
    return r;
}
