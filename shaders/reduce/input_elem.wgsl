// Input part: elements of the tensor, lifted to the accumulator.

@group(0) @binding(1) var<storage, read> a: array<word>;

fn fetch(i: u32) -> acc {
    return lift(from_word(a[word_index(i)], i));
}
