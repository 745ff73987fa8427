// Computes: the same as block.wgsl for one block per workgroup, sorted by one digit of eight bits after the other.
// Bindings: params, 1 a, 3 b (declared by the input part), 2 out, 4 out_0 (by the output part).
// Grid: one workgroup per block, folded.
// Requires: key_at, place_at (input part); put (output part); PER; sums_before; rank_in_group, COUNTS; main, which calls run.
// Accuracy: exact.

override WG: u32 = 256u;
// Pairs of a block.
override SEGMENT: u32 = WG * PER;
// Bits of a key.
override KEY_BITS: u32 = 32u;
// Groups of 32 invocations, and neighbouring digits of an invocation.
override GROUPS: u32 = 8u;
override BINS_EACH: u32 = 1u;
// Words for counts of the groups and for a block.
override SLOTS: u32 = 2048u;

const BINS: u32 = 256u;

// First counts of each digit in each group, then the keys in order; and which pair of the block each key belongs to.
var<workgroup> partial_slots: array<atomic<u32>, SLOTS>;
var<workgroup> partial_pairs: array<u32, SEGMENT>;
// Where the pairs of a digit begin.
var<workgroup> partial_first: array<u32, BINS>;

fn run(block: u32, group: u32, lane: u32) {
    let lid = group * LANES + lane;
    let row = block / params.per_row;
    let begin = (block - row * params.per_row) * SEGMENT;
    // What lies behind the last block is empty.
    let len = select(0u, params.row, block < params.blocks);
    let keep = select(0u, params.keep, block < params.blocks);
    // A group has neighbouring pairs, and an invocation one of every 32.
    let own = group * (PER * LANES) + lane;
    var ordered: array<u32, PER>;
    var pairs: array<u32, PER>;
    var ranks: array<u32, PER>;
    for (var n = 0u; n < PER; n++) {
        let pair = own + n * LANES;
        pairs[n] = pair;
        // Past the end of the row: no key is greater, and of equal ones these are last.
        ordered[n] = 0xffffffffu;
        if begin + pair < len {
            ordered[n] = key_at(row * params.row + begin + pair);
        }
    }
    for (var shift = 0u; shift < KEY_BITS; shift += 8u) {
        for (var slot = lid; slot < GROUPS * BINS; slot += WG) {
            atomicStore(&partial_slots[slot], 0u);
        }
        workgroupBarrier();
        for (var n = 0u; n < PER; n++) {
            ranks[n] = rank_in_group((ordered[n] >> shift) & (BINS - 1u), group, lane);
        }
        workgroupBarrier();
        var sum = 0u;
        for (var bin = lid * BINS_EACH; bin < min(BINS, (lid + 1u) * BINS_EACH); bin++) {
            var total = 0u;
            for (var other = 0u; other < GROUPS; other++) {
                let at = COUNTS + other * BINS + bin;
                let count = atomicLoad(&partial_slots[at]);
                atomicStore(&partial_slots[at], total);
                total += count;
            }
            partial_first[bin] = total;
            sum += total;
        }
        var before = sums_before(group, lane, vec2(sum, 0u)).x;
        for (var bin = lid * BINS_EACH; bin < min(BINS, (lid + 1u) * BINS_EACH); bin++) {
            let count = partial_first[bin];
            partial_first[bin] = before;
            before += count;
        }
        workgroupBarrier();
        for (var n = 0u; n < PER; n++) {
            let digit = (ordered[n] >> shift) & (BINS - 1u);
            ranks[n] += partial_first[digit] + atomicLoad(&partial_slots[COUNTS + group * BINS + digit]);
        }
        workgroupBarrier();
        for (var n = 0u; n < PER; n++) {
            atomicStore(&partial_slots[ranks[n]], ordered[n]);
            partial_pairs[ranks[n]] = pairs[n];
        }
        workgroupBarrier();
        for (var n = 0u; n < PER; n++) {
            ordered[n] = atomicLoad(&partial_slots[own + n * LANES]);
            pairs[n] = partial_pairs[own + n * LANES];
        }
        workgroupBarrier();
    }
    for (var n = 0u; n < PER; n++) {
        let rank = own + n * LANES;
        if rank < keep {
            // What is behind the row's own is never among those that are wanted in the end.
            let last = min(begin + pairs[n], params.row - 1u);
            put(block * params.keep + rank, ordered[n], place_at(row * params.row + last, last));
        }
    }
}
