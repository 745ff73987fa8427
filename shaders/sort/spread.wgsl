// Computes: keys and places in the order of one digit, those of equal digits in the order they had. Who has a digit in a
//           tile is a row of bits, so that a rank is a count of bits.
// Bindings: params, 1 in_0 (keys), 2 in_1 (places), 3 in_2 (where each digit of each block begins), 4 out_0, 5 out_1.
// Grid: one workgroup per block, folded.
// Requires: digit_of, block_of.
// Accuracy: exact.

// Words that hold a bit per invocation.
override ROW: u32 = 8u;
// Those of all digits.
override MARKS: u32 = 2048u;

@group(0) @binding(1) var<storage, read> in_0: array<u32>;
@group(0) @binding(2) var<storage, read> in_1: array<u32>;
@group(0) @binding(3) var<storage, read> in_2: array<u32>;
@group(0) @binding(4) var<storage, read_write> out_0: array<u32>;
@group(0) @binding(5) var<storage, read_write> out_1: array<u32>;

var<workgroup> partial_begin: array<u32, BINS>;
var<workgroup> partial_marks: array<atomic<u32>, MARKS>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let block = block_of(group, groups);
    var begin = 0u;
    var end = 0u;
    if block < params.blocks {
        begin = block * params.span;
        end = min(params.len, begin + params.span);
        for (var bin = lid; bin < BINS; bin += WG) {
            partial_begin[bin] = in_2[bin * params.blocks + block];
        }
    }
    let own_word = lid / 32u;
    let own_bit = 1u << (lid % 32u);
    for (var tile = begin; tile < end; tile += WG) {
        for (var mark = lid; mark < MARKS; mark += WG) {
            atomicStore(&partial_marks[mark], 0u);
        }
        workgroupBarrier();
        let i = tile + lid;
        var ordered = 0u;
        var place = 0u;
        if i < end {
            ordered = in_0[i];
            place = in_1[i];
            atomicOr(&partial_marks[digit_of(ordered) * ROW + own_word], own_bit);
        }
        workgroupBarrier();
        if i < end {
            let row = digit_of(ordered) * ROW;
            var rank = countOneBits(atomicLoad(&partial_marks[row + own_word]) & (own_bit - 1u));
            for (var w = 0u; w < own_word; w++) {
                rank += countOneBits(atomicLoad(&partial_marks[row + w]));
            }
            let at = partial_begin[digit_of(ordered)] + rank;
            out_0[at] = ordered;
            out_1[at] = place;
        }
        workgroupBarrier();
        for (var bin = lid; bin < BINS; bin += WG) {
            for (var w = 0u; w < ROW; w++) {
                partial_begin[bin] += countOneBits(atomicLoad(&partial_marks[bin * ROW + w]));
            }
        }
        workgroupBarrier();
    }
}
