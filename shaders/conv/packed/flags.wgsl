// Computes: which 128 positions and which 128 filters of a packed convolution f16 has no room for: where a window has a pixel without room, or too few large elements for sums to make up for the bit that two f16 lack; and the exponents of images.
// Bindings: params, out_2 (facts).
// Grid: groups * (ceil(positions / 128) + ceil(filters / 128)) + ceil(images / 128) workgroups of 128 invocations, folded.
// Requires: folded, facts.wgsl, scaling.wgsl, position_at.
// Accuracy: exact.

// Invocations that have packed a pixel.
override LANES: u32 = 1u;
// 1: elements are two f16 each; 0: one.
override SPLIT: u32 = 1u;

@group(0) @binding(1) var<storage, read_write> out_2: array<u32>;

var<workgroup> tile_flags: array<u32, 128>;

fn has_room(group: u32, position: u32) -> bool {
    let first = stats_at() + (group * params.blocks * params.pixels + position_at(position)) * LANES;
    var sum = 0.0;
    var largest = 0.0;
    for (var tap = 0u; tap < params.taps; tap++) {
        var at = first + out_2[table_at() + tap] * LANES;
        for (var block = 0u; block < params.blocks; block++) {
            for (var lane = 0u; lane < LANES; lane++) {
                let stats = out_2[at + lane];
                sum += bitcast<f32>(stats & 0xffff0000u);
                largest = max(largest, bitcast<f32>(stats << 16u));
            }
            at += params.pixels * LANES;
        }
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
        let position = id % regions() * FLAGGED_SIDE + lid;
        if position < params.images * params.plane && !has_room(id / regions(), position) {
            flag = 1u;
        }
    } else if id < of_positions + of_filters {
        let block = id - of_positions;
        let row = block % filter_blocks() * FLAGGED_SIDE + lid;
        if row < params.m {
            flag = out_2[filters_at() + block / filter_blocks() * params.m + row] >> 8u;
        }
    } else {
        let n = (id - of_positions - of_filters) * FLAGGED_SIDE + lid;
        if n < params.images {
            out_2[images_at() + n] = exponent(largest_of(n));
        }
    }
    tile_flags[lid] = flag;
    workgroupBarrier();
    for (var half = 64u; half > 0u; half /= 2u) {
        if lid < half {
            tile_flags[lid] |= tile_flags[lid + half];
        }
        workgroupBarrier();
    }
    if lid == 0u && id < of_positions + of_filters {
        out_2[id] = tile_flags[0];
    }
}
