// Bias part: one value per output channel, bound behind what packing left.

@group(0) @binding(5) var<storage, read> in_99: array<word>;

fn bias(filter_index: u32) -> acc {
    let i = params.bias_offset + filter_index * params.bias_step;
    return from_word(in_99[word_index(i)], i);
}
