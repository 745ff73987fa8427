// Computes: both operands of a convolution of f32 or bf16 as matrix units take them, as pack.wgsl does for f16. Each image and each filter is scaled by a power of two so that its largest finite magnitude lies in [2^14, 2^15); with SPLIT each element becomes two f16, what is left of it behind 11 bits 2^11 times as large.
//           Of each pixel the sum and the largest of magnitudes are left, infinite where f16 has no room: for NaN and infinity, and for elements below 2^-27 of the largest one.
// Bindings: params, a = x, b = w, out_0 (filters), out_1 (images), out_2 (facts).
// Grid: workgroups of 256 invocations, folded: groups * blocks * ceil(pixels * LANES / 256) for images, then one for each filter (with SPLIT up to a multiple of 16), then as many as it takes for one invocation for each step along k.
// Requires: elements.wgsl, pixels_to, folded, facts.wgsl, scaling.wgsl.
// Accuracy: a scaled f16 or bf16 is exact; of f32 each element is off by 2^-23 of itself at most.

// Channels of a block.
override DEPTH: u32 = 16u;
// 1: neighbouring invocations have neighbouring channels of a pixel; 0: neighbouring pixels, of each a whole block.
override BY_CHANNELS: u32 = 0u;
// Invocations of a pixel.
override LANES: u32 = BY_CHANNELS * DEPTH / 8u + (1u - BY_CHANNELS);
// 1: elements become two f16 each; 0: one.
override SPLIT: u32 = 1u;

@group(0) @binding(3) var<storage, read_write> out_0: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> out_1: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> out_2: array<u32>;

// Bits of the largest magnitude and of the least one above 0 less 1; of four lanes at a time.
var<workgroup> tile_top: array<u32, 256>;
var<workgroup> tile_bottom: array<u32, 256>;
var<workgroup> partial_sums: array<f32, 256>;

// Eight scaled elements.
struct Eight {
    low: vec4<f32>,
    high: vec4<f32>,
}

// The nearest numbers of 11 bits.
fn rounded_11(x: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>((bitcast<vec4<u32>>(x) + vec4<u32>(0x1000u)) & vec4<u32>(0xffffe000u));
}

fn pairs(low: vec4<f32>, high: vec4<f32>) -> vec4<u32> {
    return vec4<u32>(pack2x16float(low.xy), pack2x16float(low.zw), pack2x16float(high.xy), pack2x16float(high.zw));
}

// The f16 of eight elements, and those of what is left of them.
fn higher(x: Eight) -> vec4<u32> {
    return pairs(rounded_11(x.low), rounded_11(x.high));
}

fn lower(x: Eight) -> vec4<u32> {
    return pairs(
        rounded_11((x.low - rounded_11(x.low)) * 2048.0),
        rounded_11((x.high - rounded_11(x.high)) * 2048.0),
    );
}

fn magnitudes(x: vec4<f32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu);
}

fn all_fit(magnitude: vec4<u32>, e: u32, largest: u32) -> bool {
    return fits(magnitude.x, e, largest) && fits(magnitude.y, e, largest) && fits(magnitude.z, e, largest)
        && fits(magnitude.w, e, largest);
}

fn weights(first: u32, k: u32) -> Eight {
    return Eight(
        vec4<f32>(weight(first, k, DEPTH), weight(first, k + 1u, DEPTH), weight(first, k + 2u, DEPTH), weight(first, k + 3u, DEPTH)),
        vec4<f32>(weight(first, k + 4u, DEPTH), weight(first, k + 5u, DEPTH), weight(first, k + 6u, DEPTH), weight(first, k + 7u, DEPTH)),
    );
}

fn pack_pixel(block: u32, lane: u32) {
    let q = lane / LANES;
    if q < params.pixels {
        let here = pixel(block / params.blocks, q);
        let largest = largest_of(min(here.image, params.images - 1u));
        let e = exponent(largest);
        let scale = factor(e);
        let channel = block % params.blocks * DEPTH;
        let halves = 1u + SPLIT;
        let vectors = DEPTH / 8u;
        let to = (block * halves * params.pixels + q) * vectors;
        let from_channel = lane % LANES * 8u;
        var sum = vec4<f32>();
        var top = vec4<u32>();
        var room = true;
        for (var i = from_channel; i < from_channel + DEPTH / LANES; i += 8u) {
            let c = channel + i;
            let low = vec4<f32>(element(here, c), element(here, c + 1u), element(here, c + 2u), element(here, c + 3u));
            let high = vec4<f32>(element(here, c + 4u), element(here, c + 5u), element(here, c + 6u), element(here, c + 7u));
            let fit = all_fit(magnitudes(low), e, largest) && all_fit(magnitudes(high), e, largest);
            // What does not fit is not multiplied.
            let x = Eight(select(vec4<f32>(), low * scale, fit), select(vec4<f32>(), high * scale, fit));
            room = room && fit;
            sum += abs(x.low) + abs(x.high);
            top = max(top, max(magnitudes(x.low), magnitudes(x.high)));
            out_1[to + i / 8u] = higher(x);
            if SPLIT == 1u {
                out_1[to + params.pixels * vectors + i / 8u] = lower(x);
            }
        }
        let total = bitcast<u32>((sum.x + sum.y) + (sum.z + sum.w)) & 0xffff0000u;
        let most = max(max(top.x, top.y), max(top.z, top.w)) >> 16u;
        out_2[stats_at() + (block * params.pixels + q) * LANES + lane % LANES] = select(0x7f80u, total | most, room);
    }
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let per_block = (params.pixels * LANES + 255u) / 256u;
    let of_images = params.batch * params.blocks * per_block;
    if id < of_images {
        pack_pixel(id / per_block, id % per_block * 256u + lid);
    }
    let line = id - min(id, of_images);
    // With SPLIT filters are packed in blocks of 16.
    let lines = select(params.m, (params.m + 15u) / 16u * 16u, SPLIT == 1u);
    let of_filters = id >= of_images && line < params.batch * lines;
    let row = line % lines;
    let has_filter = of_filters && row < params.m;
    let steps = params.blocks * params.taps;
    let depth = select(0u, steps * DEPTH, has_filter);
    let first = filter_at(line / lines, row);

    var top = 0u;
    var bottom = 0xffffffffu;
    var sum = 0.0;
    for (var k = lid * 8u; k < depth; k += 2048u) {
        let x = weights(first, k);
        let m0 = magnitudes(x.low);
        let m1 = magnitudes(x.high);
        let most = max(m0, m1);
        // 0 becomes the largest number.
        let least = min(m0 - 1u, m1 - 1u);
        top = max(top, max(max(most.x, most.y), max(most.z, most.w)));
        bottom = min(bottom, min(min(least.x, least.y), min(least.z, least.w)));
        let each = abs(x.low) + abs(x.high);
        sum += (each.x + each.y) + (each.z + each.w);
    }
    tile_top[lid] = top;
    tile_bottom[lid] = bottom;
    partial_sums[lid] = sum;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if lid < half {
            tile_top[lid] = max(tile_top[lid], tile_top[lid + half]);
            tile_bottom[lid] = min(tile_bottom[lid], tile_bottom[lid + half]);
            partial_sums[lid] += partial_sums[lid + half];
        }
        workgroupBarrier();
    }
    let largest = tile_top[0];
    let e = exponent(largest);
    var room = largest == 0u
        || (fits(largest, e, largest) && fits(tile_bottom[0] + 1u, e, largest));
    if SPLIT == 1u {
        // Too few large elements do not make up for the bit that two f16 lack.
        room = room && partial_sums[0] >= 8.0 * bitcast<f32>(largest);
    }
    let known = select(PLAIN, e, room);
    if of_filters {
        for (var k = lid * 8u; k < steps * DEPTH; k += 2048u) {
            var x = Eight();
            if has_filter && room {
                let plain = weights(first, k);
                x = Eight(plain.low * factor(known), plain.high * factor(known));
            }
            if SPLIT == 1u {
                // Blocks of 16 lines and 16 of k, of each first the higher f16.
                let to = (line / 16u * steps + k / 16u) * 64u + line % 16u * 2u + k / 8u % 2u;
                out_0[to] = higher(x);
                out_0[to + 32u] = lower(x);
            } else {
                out_0[line * (steps * DEPTH / 8u) + k / 8u] = higher(x);
            }
        }
    }
    if has_filter && lid == 0u {
        out_2[filters_at() + line / lines * params.m + row] = known | select(256u, 0u, room);
    }
    let step = (line - min(line, params.batch * lines)) * 256u + lid;
    if id >= of_images && line >= params.batch * lines && step < steps {
        out_2[table_at() + step] = pixels_to(step, 1u + SPLIT);
    }
}
