// Computes: both operands of a product as matrix units take them: lines (rows of a, columns of b) of f16 along k, each scaled by a power of two so that its largest magnitude lies in [2^14, 2^15). Of f32 each element becomes two f16, what is left of it behind 11 bits 2^11 times as large.
//           Lines are flagged that f16 does not have room for: with NaN or infinity, or with too few large elements for sums to make up for the bit that two f16 lack. Elements below 2^-27 of the largest one are counted.
// Bindings: params, a, b (declared by the operand parts), out_0, out_1 (a and b packed), out_2 (scales).
// Grid: batch * (blocks of a + blocks of b) workgroups of 256 invocations, folded; a block is 16 lines.
// Requires: operands, block_a, block_b (0 outside), folded.
// Accuracy: a scaled f16 or bf16 is exact; of f32 each element is off by 2^-23 of itself at most. Those that are counted are off by 2^-50 of the largest one, as one f16 by 2^-39.

// 1: the invocations of a load lie side by side along k; 0: along the lines.
override A_ALONG_DEPTH: u32 = 1u;
override B_ALONG_DEPTH: u32 = 0u;
// 1: elements become two f16 each; 0: one.
override SPLIT: u32 = 1u;
// k is packed up to a multiple of this.
override DEPTH: u32 = 16u;

// Lines along k; with SPLIT blocks of 16 lines and 16 of k, of each first the higher and then the lower f16, those of a line together.
@group(0) @binding(3) var<storage, read_write> out_0: array<vec4<f16>>;
@group(0) @binding(4) var<storage, read_write> out_1: array<vec4<f16>>;
// Of each block what its 16 lines are to be multiplied by, as exponents of 2; whether one of them is flagged, in the uppermost bit, and how many small elements a line has at most.
@group(0) @binding(5) var<storage, read_write> out_2: array<i32>;

// Of four lines: the bits of the largest magnitude, how many small elements there are, the sum of magnitudes.
var<workgroup> tile_top: array<vec4<u32>, 256>;
var<workgroup> tile_strays: array<vec4<u32>, 256>;
var<workgroup> partial_sums: array<vec4<f32>, 256>;
var<workgroup> tile_flags: array<u32, 4>;

fn load(of_a: bool, at: Operands, line: u32, k: u32) -> Block {
    var loaded: Block;
    if of_a {
        loaded = block_a(at, line, k);
    } else {
        loaded = block_b(at, k, line);
    }
    return loaded;
}

fn write(of_a: bool, to: u32, v: vec4<f32>) {
    if of_a {
        out_0[to] = vec4<f16>(v);
    } else {
        out_1[to] = vec4<f16>(v);
    }
}

// The nearest numbers of 11 bits.
fn rounded_11(x: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>((bitcast<vec4<u32>>(x) + vec4<u32>(0x1000u)) & vec4<u32>(0xffffe000u));
}

// Four elements of a line along k; how many of them are below 2^-27 of the largest one, but for zeros.
fn pack4(of_a: bool, x: vec4<f32>, scale: f32, to: u32) -> u32 {
    let scaled = x * scale;
    // Below 2^-14 a multiple of 2^-24, as an f16 is: a sum with 0.75 has no more bits.
    let high = rounded_11(fma(x, vec4<f32>(scale), vec4<f32>(0.75)) - 0.75);
    write(of_a, to, high);
    if SPLIT == 1u {
        write(of_a, to + 64u, rounded_11((scaled - high) * 2048.0));
    }
    let is_small = (abs(scaled) < vec4<f32>(0.0001220703125)) & ((bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) != vec4<u32>());
    let ones = select(vec4<u32>(), vec4<u32>(1u), is_small);
    return (ones.x + ones.y) + (ones.z + ones.w);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let blocks_a = params.batch * ((params.m + 15u) / 16u);
    let blocks_b = params.batch * ((params.n + 15u) / 16u);
    let id = folded(group, groups);
    let of_a = id < blocks_a;
    let live = id < blocks_a + blocks_b;
    var block = id;
    var blocks = (params.m + 15u) / 16u;
    var along_depth = A_ALONG_DEPTH;
    if !of_a {
        block = min(id - blocks_a, blocks_b - 1u);
        blocks = (params.n + 15u) / 16u;
        along_depth = B_ALONG_DEPTH;
    }
    // Which four lines, and which four of 256 along k.
    var place = vec2<u32>(lid % 4u, lid / 4u);
    if along_depth == 1u {
        place = vec2<u32>(lid / 64u, lid % 64u);
    }
    let line = block % blocks * 16u + place.x * 4u;
    let at = operands(block / blocks, select(0u, line, of_a), select(line, 0u, of_a));

    var top = vec4<u32>();
    var sum = vec4<f32>();
    for (var k0 = 0u; k0 < params.k; k0 += 256u) {
        let next = load(of_a, at, line, k0 + place.y * 4u);
        let m0 = bitcast<vec4<u32>>(next.k0) & vec4<u32>(0x7fffffffu);
        let m1 = bitcast<vec4<u32>>(next.k1) & vec4<u32>(0x7fffffffu);
        let m2 = bitcast<vec4<u32>>(next.k2) & vec4<u32>(0x7fffffffu);
        let m3 = bitcast<vec4<u32>>(next.k3) & vec4<u32>(0x7fffffffu);
        top = max(max(top, max(m0, m1)), max(m2, m3));
        sum += (abs(next.k0) + abs(next.k1)) + (abs(next.k2) + abs(next.k3));
    }
    let slot = place.x * 64u + place.y;
    tile_top[slot] = top;
    partial_sums[slot] = sum;
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
        if place.y < half {
            tile_top[slot] = max(tile_top[slot], tile_top[slot + half]);
            partial_sums[slot] += partial_sums[slot + half];
        }
        workgroupBarrier();
    }
    let first = place.x * 64u;
    let largest = tile_top[first];
    let exponents = largest >> vec4<u32>(23u);
    var fits = (exponents >= vec4<u32>(28u)) & (exponents < vec4<u32>(255u));
    if SPLIT == 1u {
        fits = fits & (partial_sums[first] >= 8.0 * bitcast<vec4<f32>>(largest));
    }
    fits = fits | (largest == vec4<u32>(0u));
    // Largest magnitudes of 0 need no scale.
    let known = select(vec4<u32>(141u), exponents, fits & (largest != vec4<u32>(0u)));
    let factors = bitcast<vec4<f32>>((vec4<u32>(268u) - known) << vec4<u32>(23u));

    let depth = (params.k + DEPTH - 1u) / DEPTH * DEPTH;
    // Vec4 from one line to the next.
    let pitch = select(depth / 4u, 4u, SPLIT == 1u);
    var strays = vec4<u32>();
    for (var k0 = 0u; k0 < depth; k0 += 256u) {
        let k = k0 + place.y * 4u;
        let next = load(of_a, at, line, k);
        if live && k < depth {
            var to = (block * 16u + place.x * 4u) * pitch + k / 4u;
            if SPLIT == 1u {
                to = (block * (depth / 16u) + k / 16u) * 128u + place.x * 16u + k / 4u % 4u;
            }
            // What is flagged is not multiplied.
            let x0 = select(vec4<f32>(), next.k0, fits);
            let x1 = select(vec4<f32>(), next.k1, fits);
            let x2 = select(vec4<f32>(), next.k2, fits);
            let x3 = select(vec4<f32>(), next.k3, fits);
            strays.x += pack4(of_a, vec4<f32>(x0.x, x1.x, x2.x, x3.x), factors.x, to);
            strays.y += pack4(of_a, vec4<f32>(x0.y, x1.y, x2.y, x3.y), factors.y, to + pitch);
            strays.z += pack4(of_a, vec4<f32>(x0.z, x1.z, x2.z, x3.z), factors.z, to + 2u * pitch);
            strays.w += pack4(of_a, vec4<f32>(x0.w, x1.w, x2.w, x3.w), factors.w, to + 3u * pitch);
        }
    }

    tile_strays[slot] = strays;
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
        if place.y < half {
            tile_strays[slot] += tile_strays[slot + half];
        }
        workgroupBarrier();
    }
    let scales = id * 17u;
    if place.y == 0u {
        let of_lines = tile_strays[first];
        let most = max(max(of_lines.x, of_lines.y), max(of_lines.z, of_lines.w));
        tile_flags[place.x] = select(0x80000000u, most, all(fits));
        if live {
            let back = vec4<i32>(known) - vec4<i32>(141);
            out_2[scales + place.x * 4u] = back.x;
            out_2[scales + place.x * 4u + 1u] = back.y;
            out_2[scales + place.x * 4u + 2u] = back.z;
            out_2[scales + place.x * 4u + 3u] = back.w;
        }
    }
    workgroupBarrier();
    if lid == 0u && live {
        out_2[scales + 16u] = bitcast<i32>(max(max(tile_flags[0], tile_flags[1]), max(tile_flags[2], tile_flags[3])));
    }
}
