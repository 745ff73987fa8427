// Position part: positions count up from `start`; `batch_step` rows lie between the tables of two batches (0: one table for all).

fn table_row(batch: u32, i: u32) -> u32 {
    return min(batch * params.batch_step + params.start + i, params.table_rows - 1u);
}
