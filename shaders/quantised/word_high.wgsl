// Word part: upper bits are in a plane of their own, as many words of them.

// The unit whose first word of integers is word `word` of this one.
fn by_word(unit: Unit, word: u32) -> Unit {
    var next = unit;
    next.quants.x = unit.quants[word];
    next.high.x = unit.high[word];
    return next;
}
