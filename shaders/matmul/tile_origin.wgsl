// Operand part: where the matrices of one batch entry begin.

alias Operands = Origin;

fn batches() -> u32 {
    return params.batch;
}

fn operands(batch: u32, row: u32, col: u32) -> Operands {
    let at = origin(batch);
    return Operands(at.a + row * params.a_row, at.b + col * params.b_col);
}
