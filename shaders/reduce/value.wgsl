// Value part: the element that a kernel reads at an index, from memory. A fused kernel has a generated part in its place,
// which computes the element.

@group(0) @binding(1) var<storage, read> a: array<word>;

fn load_value(i: u32) -> elem {
    return from_word(a[word_index(i)], i);
}
