// The state of rows some of whose keys were seen: vectors of sums, then one of the greatest score and the sum of weights.

fn state_pitch() -> u32 {
    return (params.value_dim + 3u) / 4u + 1u;
}

// Where the state of row `row` is, counted from the first one of the dispatch. There are state_rows per key head.
fn state_at(split: u32, batch: u32, kv_head: u32, row: u32) -> u32 {
    return (((split * params.batches + batch) * params.kv_heads + kv_head) * params.state_rows + row) * state_pitch();
}
