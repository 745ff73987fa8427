// Input part: the elements of rows. Requires: word, word_index, from_word; ordered_key; address.

@group(0) @binding(1) var<storage, read> a: array<word>;

fn key_at(i: u32) -> u32 {
    let at = address(i).x;
    return ordered_key(from_word(a[word_index(at)], at));
}

// Where element i, which is at `within` of its row, stands.
fn place_at(i: u32, within: u32) -> u32 {
    return within;
}
