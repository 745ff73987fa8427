// Computes: keys and places in the order of one digit, those of equal digits in the order they had. A tile is put in order in
//           workgroup memory first, so that pairs of one digit are written next to each other.
// Bindings: params, 1 in_0 (keys), 2 in_1 (places), 3 in_2 (pairs of each digit in the tiles before each), 4 in_3 (pairs of
//           each digit), 5 out_0, 6 out_1.
// Grid: one workgroup per tile, folded.
// Requires: digit_of, PER; sums_before; rank_in_group, COUNTS; main, which calls run.
// Accuracy: exact.

// Groups of 32 invocations, and words for their counts and for a tile.
override GROUPS: u32 = 4u;
override SLOTS: u32 = 2048u;
// Neighbouring digits of an invocation.
override BINS_EACH: u32 = 2u;

@group(0) @binding(1) var<storage, read> in_0: array<u32>;
@group(0) @binding(2) var<storage, read> in_1: array<u32>;
@group(0) @binding(3) var<storage, read> in_2: array<u32>;
@group(0) @binding(4) var<storage, read> in_3: array<u32>;
@group(0) @binding(5) var<storage, read_write> out_0: array<u32>;
@group(0) @binding(6) var<storage, read_write> out_1: array<u32>;

// First counts of each digit in each group, then the tile in order.
var<workgroup> partial_slots: array<atomic<u32>, SLOTS>;
// Where the pairs of a digit begin in the tile; and in the result, less that.
var<workgroup> partial_first: array<u32, BINS>;
var<workgroup> partial_begin: array<u32, BINS>;

fn run(tile: u32, group: u32, lane: u32) {
    let lid = group * LANES + lane;
    // What lies behind the last tile is empty.
    let at = min(tile, params.tiles - 1u);
    let begin = at * TILE;
    let size = select(0u, min(params.len - begin, TILE), tile < params.tiles);
    for (var slot = lid; slot < SLOTS; slot += WG) {
        atomicStore(&partial_slots[slot], 0u);
    }
    workgroupBarrier();
    // A group has neighbouring pairs, and an invocation one of every 32. What is missing in the last tile comes last.
    let width = min(WG, LANES);
    let own = group * (PER * width) + lane;
    var ordered: array<u32, PER>;
    var ranks: array<u32, PER>;
    for (var n = 0u; n < PER; n++) {
        let i = own + n * width;
        ordered[n] = 0xffffffffu;
        if i < size {
            ordered[n] = in_0[begin + i];
        }
    }
    for (var n = 0u; n < PER; n++) {
        ranks[n] = rank_in_group(digit_of(ordered[n]), group, lane);
    }
    workgroupBarrier();
    var sums = vec2<u32>();
    for (var bin = lid * BINS_EACH; bin < min(BINS, (lid + 1u) * BINS_EACH); bin++) {
        var total = 0u;
        for (var other = 0u; other < GROUPS; other++) {
            let slot = COUNTS + other * BINS + bin;
            let count = atomicLoad(&partial_slots[slot]);
            atomicStore(&partial_slots[slot], total);
            total += count;
        }
        let everywhere = in_3[bin];
        partial_first[bin] = total;
        partial_begin[bin] = everywhere;
        sums += vec2(total, everywhere);
    }
    var before = sums_before(group, lane, sums);
    for (var bin = lid * BINS_EACH; bin < min(BINS, (lid + 1u) * BINS_EACH); bin++) {
        let counts = vec2(partial_first[bin], partial_begin[bin]);
        partial_first[bin] = before.x;
        partial_begin[bin] = before.y + in_2[bin * params.tiles + at] - before.x;
        before += counts;
    }
    workgroupBarrier();
    for (var n = 0u; n < PER; n++) {
        let digit = digit_of(ordered[n]);
        ranks[n] += partial_first[digit] + atomicLoad(&partial_slots[COUNTS + group * BINS + digit]);
    }
    workgroupBarrier();
    for (var n = 0u; n < PER; n++) {
        atomicStore(&partial_slots[ranks[n]], ordered[n]);
    }
    workgroupBarrier();
    var targets: array<u32, PER>;
    for (var n = 0u; n < PER; n++) {
        let i = n * WG + lid;
        let next = atomicLoad(&partial_slots[i]);
        targets[n] = partial_begin[digit_of(next)] + i;
        if i < size {
            out_0[targets[n]] = next;
        }
    }
    workgroupBarrier();
    for (var n = 0u; n < PER; n++) {
        let i = own + n * width;
        var place = begin + i;
        if params.counted == 0u && i < size {
            place = in_1[begin + i];
        }
        atomicStore(&partial_slots[ranks[n]], place);
    }
    workgroupBarrier();
    for (var n = 0u; n < PER; n++) {
        let i = n * WG + lid;
        if i < size {
            out_1[targets[n]] = atomicLoad(&partial_slots[i]);
        }
    }
}
