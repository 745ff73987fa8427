// Part of the kernels of tiles on matrix units: entries of the batch are shares of an inner extent, the outermost axis; the last of them may be shorter.
// Requires: Params, of which k is that of a share, chunk_len that of all, and chunks how many there are.

fn depth_of(entry: u32) -> u32 {
    let share = entry / (params.batch / params.chunks);
    return min(params.k, params.chunk_len - share * params.k);
}
