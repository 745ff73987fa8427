// Bias part: none.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

fn bias(filter_index: u32) -> acc {
    return acc();
}
