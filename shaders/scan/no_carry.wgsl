// Carry part: nothing stands before a chunk.

fn carried(chunk: u32) -> acc {
    return identity();
}
