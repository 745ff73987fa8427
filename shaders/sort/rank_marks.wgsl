// Ranks by marks in workgroup memory: a word with a bit for each invocation of a group. Requires: digit_of, BINS, partial_slots.

// Counts of the groups begin there, behind their marks.
override COUNTS: u32 = 1024u;

// How many pairs of the digit the group had before, this pair's fellows in lower lanes included.
fn rank_in_group(digit: u32, group: u32, lane: u32) -> u32 {
    let at = group * BINS + digit;
    atomicOr(&partial_slots[at], 1u << lane);
    workgroupBarrier();
    let fellows = atomicLoad(&partial_slots[at]);
    let before = atomicLoad(&partial_slots[COUNTS + at]);
    workgroupBarrier();
    let lower = fellows & ((1u << lane) - 1u);
    if lower == 0u {
        atomicStore(&partial_slots[at], 0u);
        atomicStore(&partial_slots[COUNTS + at], before + countOneBits(fellows));
    }
    workgroupBarrier();
    return before + countOneBits(lower);
}
