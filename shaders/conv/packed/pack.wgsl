// Computes: both operands of a convolution of f16 as matrix units take them: images with their padding, of each pixel a block of channels together; filters in lines along (block, tap, channel); and where each tap of each block reads.
// Bindings: params, a = x, b = w, out_0 (filters), out_1 (images), out_2 (pixels from the first tap to each).
// Grid: workgroups of 256 invocations, folded: as many as it takes for one invocation for 8 elements of a filter and one for each step along k, then groups * blocks * ceil(pixels * LANES / 256) for images.
// Requires: elements.wgsl, four, pixels_to, folded.
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

fn bits_of(x: Eight) -> vec4<u32> {
    return vec4<u32>(
        x.low.x | (x.low.y << 16u),
        x.low.z | (x.low.w << 16u),
        x.high.x | (x.high.y << 16u),
        x.high.z | (x.high.w << 16u),
    );
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let of_filters = params.batch * params.m * (params.k / 8u);
    let steps = params.k / DEPTH;
    let others = (of_filters + steps + WG - 1u) / WG;
    if id < others {
        let number = id * WG + lid;
        if number < of_filters {
            let line = number / (params.k / 8u);
            let first = filter_at(line / params.m, line % params.m);
            out_0[number] = bits_of(weights(first, number % (params.k / 8u) * 8u, DEPTH));
        } else if number - of_filters < steps {
            out_2[number - of_filters] = pixels_to(number - of_filters, 1u);
        }
        return;
    }
    let per_block = (params.pixels * LANES + WG - 1u) / WG;
    let block = (id - others) / per_block;
    let lane = (id - others) % per_block * WG + lid;
    let q = lane / LANES;
    if block < params.batch * params.blocks && q < params.pixels {
        let here = pixel(block / params.blocks, q);
        let channel = block % params.blocks * DEPTH;
        let to = (block * params.pixels + q) * (DEPTH / 8u);
        let from_channel = lane % LANES * 8u;
        for (var i = from_channel; i < from_channel + DEPTH / LANES; i += 8u) {
            out_1[to + i / 8u] = bits_of(Eight(four(here, channel + i), four(here, channel + i + 4u)));
        }
    }
}
