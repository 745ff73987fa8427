// State part: all keys are passed over in this dispatch.

fn begun_row(id: u32) -> Row {
    return new_row();
}

fn left_row(id: u32, row: Row) -> bool {
    return false;
}
