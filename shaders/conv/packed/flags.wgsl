// Computes: which 128 positions and which 128 filters of a packed convolution f16 has no room for: where a window has a pixel without room, or too few large elements for sums to make up for the bit that two f16 lack.
// Bindings: params, out_2 (facts).
// Grid: groups * (ceil(positions / 128) + ceil(filters / 128)) workgroups of 128 * LANES invocations, folded.
// Requires: subgroups of 32; folded, facts.wgsl, position_at.
// Accuracy: exact.

// 1: elements are two f16 each; 0: one.
override SPLIT: u32 = 1u;
// Neighbouring invocations that share the blocks of a position, a power of two.
override LANES: u32 = 1u;

@group(0) @binding(1) var<storage, read_write> out_2: array<u32>;

// Of each subgroup: whether one of its positions or filters does not fit.
var<workgroup> tile_flags: array<u32, 16>;

// Whether f16 has room for what a position's window reads.
fn has_room(group: u32, position: u32, lane: u32) -> bool {
    let first = stats_at() + (group * params.blocks + lane) * params.pixels + position_at(position);
    var sum = 0.0;
    var largest = 0.0;
    for (var tap = 0u; tap < params.taps; tap++) {
        var at = first + out_2[table_at() + tap];
        for (var block = lane; block < params.blocks; block += LANES) {
            let stats = out_2[at];
            sum += bitcast<f32>(stats & 0xffff0000u);
            largest = max(largest, bitcast<f32>(stats << 16u));
            at += LANES * params.pixels;
        }
    }
    for (var by = 1u; by < LANES; by *= 2u) {
        sum += subgroupShuffleXor(sum, by);
        largest = max(largest, subgroupShuffleXor(largest, by));
    }
    var room = largest < 1e30;
    if SPLIT == 1u {
        // Both have 8 bits here.
        room = sum >= 8.125 * largest;
    }
    return room;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let of_positions = params.batch * regions();
    let of_filters = params.batch * filter_blocks();
    var flag = 0u;
    if id < of_positions {
        // Beyond the last position it is once more.
        let last = params.images * params.plane - 1u;
        let position = min(id % regions() * FLAGGED_SIDE + lid / LANES, last);
        flag = select(1u, 0u, has_room(id / regions(), position, lid % LANES));
    } else if id < of_positions + of_filters && lid < FLAGGED_SIDE {
        let block = id - of_positions;
        let row = block % filter_blocks() * FLAGGED_SIDE + lid;
        if row < params.m {
            flag = out_2[filters_at() + block / filter_blocks() * params.m + row] >> 8u;
        }
    }
    flag = subgroupMax(flag);
    if lid % 32u == 0u {
        tile_flags[lid / 32u] = flag;
    }
    workgroupBarrier();
    if lid == 0u && id < of_positions + of_filters {
        var all = 0u;
        for (var i = 0u; i < WG / 32u; i++) {
            all |= tile_flags[i];
        }
        out_2[id] = all;
    }
}
