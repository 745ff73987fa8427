// Ranks by votes of subgroups. Requires: digit_of, BINS, partial_slots.

const COUNTS: u32 = 0u;

// How many pairs of the digit the group had before, this pair's fellows in lower lanes included.
fn rank_in_group(digit: u32, group: u32, lane: u32) -> u32 {
    var fellows = 0xffffffffu;
    for (var bit = 0u; bit < 8u; bit++) {
        let is_set = ((digit >> bit) & 1u) == 1u;
        let votes = subgroupBallot(is_set).x;
        fellows &= select(~votes, votes, is_set);
    }
    let first = countTrailingZeros(fellows);
    var before = 0u;
    // Only this subgroup adds here, and nobody of it again before all have got what this one finds.
    if lane == first {
        before = atomicAdd(&partial_slots[group * BINS + digit], countOneBits(fellows));
    }
    return subgroupShuffle(before, first) + countOneBits(fellows & ((1u << lane) - 1u));
}
