// Word part: a word has the fifth bits of a unit, four of each word of a run.

// The unit whose first word of integers is word `word` of this one.
fn by_word(unit: Unit, word: u32) -> Unit {
    var next = unit;
    next.quants.x = unit.quants[word];
    next.high = unit.high >> (word * 4u);
    return next;
}
