// State part: sums begin and end here.

fn begun(i: u32) -> f32 {
    return 0.0;
}

fn ended(i: u32, v: f32) {
    emit(i, v);
}
