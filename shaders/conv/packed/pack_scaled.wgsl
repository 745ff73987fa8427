// Computes: both operands of a convolution of f32 or bf16 as matrix units take them, as pack.wgsl does for f16. Each image and each filter is scaled by a power of two so that its largest finite magnitude lies in [2^14, 2^15); with SPLIT each element becomes two f16, what is left of it behind 11 bits 2^11 times as large.
//           Of each pixel of a block the sum and the largest of magnitudes are left, infinite where f16 has no room: for NaN and infinity, and for elements below 2^-27 of the largest one.
// Bindings: params, a = x, b = w, out_0 (filters), out_1 (images), out_2 (facts).
// Grid: workgroups of 256 invocations, folded: one for each filter (with SPLIT up to a multiple of 16), as many as it takes for one invocation for each step along k, then groups * blocks * ceil(pixels * LANES / 256) for images.
// Requires: subgroups of 32; elements.wgsl, four, pixels_to, folded, facts.wgsl, scaling.wgsl.
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

// The largest finite magnitudes of the images of a subgroup's invocations: pixels of few images.
fn largest_of(image: u32, lid: u32) -> u32 {
    let last = subgroupMax(image);
    var largest = 0u;
    for (var n = subgroupMin(image); n <= last; n++) {
        var top = 0u;
        for (var i = lid % 32u; i < params.chunks; i += 32u) {
            top = max(top, out_2[maxima_at() + n * params.chunks + i]);
        }
        top = subgroupMax(top);
        if n == image {
            largest = top;
        }
    }
    return largest;
}

fn pack_pixel(block: u32, lane: u32, lid: u32) {
    let q = lane / LANES;
    let here = pixel(block / params.blocks, q);
    let image = min(here.image, params.images - 1u);
    let largest = largest_of(image, lid);
    let e = exponent(largest);
    let scale = factor(e);
    let channel = block % params.blocks * DEPTH;
    let halves = 1u + SPLIT;
    let vectors = DEPTH / 8u;
    let to = (block * halves * params.pixels + q) * vectors;
    let from_channel = lane % LANES * 8u;
    var sum = vec4<f32>();
    var tops = vec4<u32>();
    var misfits = 0u;
    if q < params.pixels {
        for (var i = from_channel; i < from_channel + DEPTH / LANES; i += 8u) {
            let low = four(here, channel + i);
            let high = four(here, channel + i + 4u);
            let fit = all_fit(magnitudes(low), e, largest) && all_fit(magnitudes(high), e, largest);
            // What does not fit is not multiplied.
            let x = Eight(select(vec4<f32>(), low * scale, fit), select(vec4<f32>(), high * scale, fit));
            misfits |= select(1u, 0u, fit);
            sum += abs(x.low) + abs(x.high);
            tops = max(tops, max(magnitudes(x.low), magnitudes(x.high)));
            out_1[to + i / 8u] = higher(x);
            if SPLIT == 1u {
                out_1[to + params.pixels * vectors + i / 8u] = lower(x);
            }
        }
    }
    var total = (sum.x + sum.y) + (sum.z + sum.w);
    var most = max(max(tops.x, tops.y), max(tops.z, tops.w));
    for (var by = 1u; by < LANES; by *= 2u) {
        total += subgroupShuffleXor(total, by);
        most = max(most, subgroupShuffleXor(most, by));
        misfits |= subgroupShuffleXor(misfits, by);
    }
    if q < params.pixels && lane % LANES == 0u {
        let stats = (bitcast<u32>(total) & 0xffff0000u) | (most >> 16u);
        out_2[stats_at() + block * params.pixels + q] = select(0x7f80u, stats, misfits == 0u);
    }
    // Of an image that begins here.
    if block == 0u && lane % LANES == 0u && q % (params.grid.x * params.grid.y * params.grid.z) == 0u && q < params.part
        && here.image < params.images {
        out_2[images_at() + here.image] = e;
    }
}

// A line of filters; all invocations of a workgroup have the same.
fn pack_filter(number: u32, lines: u32, lid: u32) {
    let group = number / lines;
    let row = number % lines;
    let is_filter = row < params.m;
    let steps = params.blocks * params.taps;
    let depth = select(0u, steps * DEPTH, is_filter);
    let first = filter_at(group, row);

    var top = 0u;
    var bottom = 0xffffffffu;
    var sum = 0.0;
    for (var k = lid * 8u; k < depth; k += 2048u) {
        let x = weights(first, k, DEPTH);
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
    for (var k = lid * 8u; k < steps * DEPTH; k += 2048u) {
        var x = Eight();
        if is_filter && room {
            let plain = weights(first, k, DEPTH);
            x = Eight(plain.low * factor(known), plain.high * factor(known));
        }
        if SPLIT == 1u {
            // Blocks of 16 lines and 16 of k, of each first the higher f16.
            let to = (number / 16u * steps + k / 16u) * 64u + number % 16u * 2u + k / 8u % 2u;
            out_0[to] = higher(x);
            out_0[to + 32u] = lower(x);
        } else {
            out_0[number * (steps * DEPTH / 8u) + k / 8u] = higher(x);
        }
    }
    if is_filter && lid == 0u {
        out_2[filters_at() + group * params.m + row] = known | select(256u, 0u, room);
    }
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    // With SPLIT filters are packed in blocks of 16. They take longest, so they begin first.
    let lines = select(params.m, (params.m + 15u) / 16u * 16u, SPLIT == 1u);
    let of_filters = params.batch * lines;
    let steps = params.blocks * params.taps;
    let others = of_filters + (steps + 255u) / 256u;
    if id < of_filters {
        pack_filter(id, lines, lid);
    } else if id < others {
        let step = (id - of_filters) * 256u + lid;
        if step < steps {
            out_2[table_at() + step] = pixels_to(step, 1u + SPLIT);
        }
    } else {
        let per_block = (params.pixels * LANES + 255u) / 256u;
        let block = (id - others) / per_block;
        if block < params.batch * params.blocks {
            pack_pixel(block, (id - others) % per_block * 256u + lid, lid);
        }
    }
}
