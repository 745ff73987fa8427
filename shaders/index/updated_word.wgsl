// A word of a 32-bit dtype after its element became x.

fn updated(before: u32, at: u32, x: elem) -> u32 {
    return bitcast<u32>(x);
}
