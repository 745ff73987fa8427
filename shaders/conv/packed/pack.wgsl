// Computes: both operands of a convolution of f16 as matrix units take them: images with their padding, of each pixel a block of channels together; filters in lines along (block, tap, channel); and where each tap of each block reads.
// Bindings: params, a = x, b = w, out_0 (filters), out_1 (images), out_2 (pixels from the first tap to each).
// Grid: workgroups of 256 invocations, folded: groups * blocks * ceil(pixels * LANES / 256) for images, then one invocation for 8 elements of a filter, then one for each step along k.
// Requires: elements.wgsl, pixels_to, folded.
// Accuracy: exact.

// Channels of a block.
override DEPTH: u32 = 32u;
// 1: neighbouring invocations have neighbouring channels of a pixel; 0: neighbouring pixels, of each a whole block.
override BY_CHANNELS: u32 = 0u;
// Invocations of a pixel.
override LANES: u32 = BY_CHANNELS * DEPTH / 8u + (1u - BY_CHANNELS);

@group(0) @binding(3) var<storage, read_write> out_0: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> out_1: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> out_2: array<u32>;

// The bits of two neighbours.
fn pair(first: acc, second: acc) -> u32 {
    return first | (second << 16u);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let per_block = (params.pixels * LANES + WG - 1u) / WG;
    let of_images = params.batch * params.blocks * per_block;
    if id < of_images {
        let block = id / per_block;
        let lane = id % per_block * WG + lid;
        let q = lane / LANES;
        if q < params.pixels {
            let here = pixel(block / params.blocks, q);
            let channel = block % params.blocks * DEPTH;
            let to = (block * params.pixels + q) * (DEPTH / 8u);
            let from_channel = lane % LANES * 8u;
            for (var i = from_channel; i < from_channel + DEPTH / LANES; i += 8u) {
                let c = channel + i;
                out_1[to + i / 8u] = vec4<u32>(
                    pair(element(here, c), element(here, c + 1u)),
                    pair(element(here, c + 2u), element(here, c + 3u)),
                    pair(element(here, c + 4u), element(here, c + 5u)),
                    pair(element(here, c + 6u), element(here, c + 7u)),
                );
            }
        }
        return;
    }
    let number = (id - of_images) * WG + lid;
    let of_filters = params.batch * params.m * (params.k / 8u);
    if number < of_filters {
        let line = number / (params.k / 8u);
        let k = number % (params.k / 8u) * 8u;
        let first = filter_at(line / params.m, line % params.m);
        out_0[number] = vec4<u32>(
            pair(weight(first, k, DEPTH), weight(first, k + 1u, DEPTH)),
            pair(weight(first, k + 2u, DEPTH), weight(first, k + 3u, DEPTH)),
            pair(weight(first, k + 4u, DEPTH), weight(first, k + 5u, DEPTH)),
            pair(weight(first, k + 6u, DEPTH), weight(first, k + 7u, DEPTH)),
        );
    } else if number - of_filters < params.k / DEPTH {
        out_2[number - of_filters] = pixels_to(number - of_filters, 1u);
    }
}
