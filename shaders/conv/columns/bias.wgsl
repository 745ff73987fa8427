// Bias part: one value per output channel, bound behind the output.

@group(0) @binding(3) var<storage, read> c: array<word>;

fn bias(filter_index: u32) -> acc {
    let i = params.bias_offset + filter_index * params.bias_step;
    return from_word(c[word_index(i)], i);
}
