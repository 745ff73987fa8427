// Length part: every batch has all keys.

fn keys_of(batch: u32) -> u32 {
    return params.keys;
}

fn shift_of(batch: u32) -> i32 {
    return params.shift;
}
