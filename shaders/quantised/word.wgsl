// Word part: integers are in one plane.

// The unit whose first word of integers is word `word` of this one.
fn by_word(unit: Unit, word: u32) -> Unit {
    var next = unit;
    next.quants.x = unit.quants[word];
    return next;
}
