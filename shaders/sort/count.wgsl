// Computes: out[d * tiles + t] = how many keys of tile t have the digit d.
// Bindings: params, 1 a (keys), 2 out.
// Grid: one workgroup per tile, folded.
// Requires: digit_of, PER; main, which calls run.
// Accuracy: exact.

@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

var<workgroup> partial_count: array<atomic<u32>, BINS>;

fn run(tile: u32, subgroup: u32, lane: u32) {
    let lid = subgroup * LANES + lane;
    for (var bin = lid; bin < BINS; bin += WG) {
        atomicStore(&partial_count[bin], 0u);
    }
    workgroupBarrier();
    if tile < params.tiles {
        let begin = tile * TILE;
        let size = min(params.len - begin, TILE);
        for (var n = 0u; n < PER; n++) {
            let i = n * WG + lid;
            if i < size {
                atomicAdd(&partial_count[digit_of(a[begin + i])], 1u);
            }
        }
    }
    workgroupBarrier();
    if tile < params.tiles {
        for (var bin = lid; bin < BINS; bin += WG) {
            out[bin * params.tiles + tile] = atomicLoad(&partial_count[bin]);
        }
    }
}
