// Bias part: none.

fn bias(filter_index: u32) -> acc {
    return acc();
}
