// Computes: out[d * tiles + t] = how many keys of the tiles before t have the digit d, in place of how many of t have it;
//           out_0[d] = how many keys have it.
// Bindings: params, 1 out, 2 out_0.
// Grid: one workgroup per digit.
// Requires: sums_before; main, which calls run.
// Accuracy: exact.

@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> out_0: array<u32>;

fn run(digit: u32, subgroup: u32, lane: u32) {
    let lid = subgroup * LANES + lane;
    // Each invocation has neighbouring tiles.
    let each = (params.tiles + WG - 1u) / WG;
    let begin = min(lid * each, params.tiles);
    let end = min(begin + each, params.tiles);
    let row = min(digit, BINS - 1u) * params.tiles;
    var own = 0u;
    for (var t = begin; t < end; t++) {
        own += out[row + t];
    }
    var sum = sums_before(subgroup, lane, vec2(own, 0u)).x;
    if digit < BINS {
        for (var t = begin; t < end; t++) {
            let count = out[row + t];
            out[row + t] = sum;
            sum += count;
        }
        if lid == WG - 1u {
            out_0[digit] = sum;
        }
    }
}
