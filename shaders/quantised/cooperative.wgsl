// Computes: for each share of k the sums over it of x[l, k] * w[r, k], for LINES rows of x and 64 of w, which is in blocks, in a workgroup, by matrix units that multiply f16: each element is one f16 or two, the lower one 2^11 times as large, and of four products three count.
//           Each of 4 subgroups of 32 has 16 rows of w. An invocation decodes a run of one of them at a time; two invocations have units side by side, so that a subgroup multiplies 16 rows and twice 16 of k. Matrices of x are read from storage: neighbours share them through the cache.
//           What is decoded is multiplied by a power of two for the 16 rows, so that their largest number up to here is below 2^15; sums shrink when that grows.
// Bindings: params, a (x, as packed_rows.wgsl leaves it), 2 the blocks, out (sums [band, share, row of x, row of w] in bands of LINES rows, with scales), out_1 (see there).
// Grid: along * shares * bands workgroups of 128 invocations, folded; along is ceil(n / 64).
// Requires: blocks_at, word_at; RUNS, LARGEST, unit_at, run_at, scales_of, factors_of, HAS_LEAST, MULTIPLE (format part).
// Accuracy: (k / 16 + 64) ε Σ|term| for the numbers that the blocks have, where one to which something is added counts as two terms; where
//           they are one f16 each, (k + 2) ε for numbers that are rounded to 11 bits.

override WG: u32 = 128u;
// Rows of x of a workgroup: 16, 32, 48 or 64.
override LINES: u32 = 64u;
// 1: an element of x is two f16; 0: one, and the lower one 0.
override SPLIT: u32 = 1u;
// The same of w.
override SPLIT_W: u32 = 1u;

// What the lower f16 are multiplied by.
const LOW: f32 = 0.00048828125;
// Vectors of f16 of a block of x, and of its higher half.
const BLOCK: u32 = 128u;
const HALF: u32 = 64u;
// Of a subgroup's tile: from row to row, which is twice 16 of k and 16 bytes against bank conflicts; from the higher f16 to the lower ones;
// and all of it.
const PITCH: u32 = 10u;
const PIECE: u32 = 160u;
override TILE: u32 = PIECE * (1u + SPLIT_W);
override TILES: u32 = 4u * TILE;
// Least magnitudes, with scales, that f16 hold as exactly as sums need: of the larger term of a run's numbers (a smaller one may be what
// is left of both), and of a term that is a number alone.
override LEAST_RUN: f32 = select(0.00006103515625, select(0.0001220703125, 0.5, SPLIT_W == 1u), HAS_LEAST);
const LEAST_ALONE: f32 = 0.00006103515625;

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
// Of each share and 16 rows of w: the exponent of f32 of the largest number in the lowest byte; from the next bit on how many numbers a row
// has at most that two f16 do not hold; in the uppermost bit whether some are not finite.
@group(0) @binding(4) var<storage, read_write> out_1: array<u32>;

var<workgroup> tile_b: array<vec4<f16>, TILES>;

// Four numbers of a row as f16. Of two the higher one is made by bits before it becomes f16: without that NVIDIA's compiler takes what
// becomes f16 and f32 again for what it was, and nothing is left for the lower one.
fn put4(to: u32, v: vec4<f32>) {
    if SPLIT_W == 1u {
        let high = bitcast<vec4<f32>>(bitcast<vec4<u32>>(v) & vec4<u32>(0xffffe000u));
        tile_b[to] = vec4<f16>(high);
        tile_b[to + PIECE] = vec4<f16>((v - high) * 2048.0);
    } else {
        tile_b[to] = vec4<f16>(v);
    }
}

// Whether some numbers of a run are known less exactly than sums need, by what is multiplied and added, both with their scale.
fn is_stray(factor: f32, least: f32) -> bool {
    // A number that is not its minimum is as exact as the larger of both terms.
    let of_run = max(abs(factor), select(0.0, abs(least), HAS_LEAST));
    let alone = HAS_LEAST && abs(least) < LEAST_ALONE && least != 0.0;
    return of_run < LEAST_RUN && of_run != 0.0 || alone;
}

// The matrices of 16 rows of x and 16 of k, and of 16 of k and 16 rows of w.
fn left(at: u32) -> coop_mat16x16<f16, A> {
    return coopLoadT<coop_mat16x16<f16, A>>(&a[at], 4u);
}

fn right(at: u32) -> coop_mat16x16<f16, B> {
    return coopLoad<coop_mat16x16<f16, B>>(&tile_b[at], PITCH);
}

// Where the block of x is that has some of a band's lines; of those behind the last, the last.
fn block_at(band: u32, i: u32) -> u32 {
    let last = (params.m - 1u) / 16u;
    return min(band * (LINES / 16u) + i, last) * (params.units * RUNS) * BLOCK;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = group.x + (group.y + group.z * groups.y) * groups.x;
    let along = id % params.along;
    let shares = params.units / params.share;
    let share = id / params.along % shares;
    let band = id / params.along / shares;
    let live = band * LINES < params.m;
    let units = select(0u, params.share, live);
    let subgroup = lid / 32u;
    let lane = lid % 32u;
    let odd = lane % 2u;
    let first_unit = share * params.share;
    let row = min(along * 64u + subgroup * 16u + lane / 2u, params.n - 1u);
    let from_units = row * params.units + first_unit + odd;
    let own = subgroup * TILE;
    let to = own + lane / 2u * PITCH + odd * 4u;
    let a_0 = block_at(band, 0u);
    let a_1 = block_at(band, 1u);
    let a_2 = block_at(band, 2u);
    let a_3 = block_at(band, 3u);

    // Of products of the higher f16, and 2^11 times those of a lower one.
    var sum_0 = coop_mat16x16<f32, C>();
    var sum_1 = coop_mat16x16<f32, C>();
    var sum_2 = coop_mat16x16<f32, C>();
    var sum_3 = coop_mat16x16<f32, C>();
    var low_0 = coop_mat16x16<f32, C>();
    var low_1 = coop_mat16x16<f32, C>();
    var low_2 = coop_mat16x16<f32, C>();
    var low_3 = coop_mat16x16<f32, C>();
    var top = 0u;
    var scale = MULTIPLE;
    var strays = 0u;
    var next = unit_at(from_units);
    for (var u = 0u; u < units; u += 2u) {
        let unit = next;
        next = unit_at(from_units + min(u + 2u, params.share - 2u));
        for (var run = 0u; run < RUNS; run++) {
            let scales = scales_of(unit, run);
            let largest = max(abs(scales.x) * LARGEST, abs(scales.y) * MULTIPLE);
            let exponent = bitcast<u32>(largest) >> 23u;
            // Seldom: where numbers are larger than all before.
            if subgroupAny(exponent > top) {
                let now = subgroupMax(max(exponent, top));
                let less = bitcast<f32>((127u - min(now - top, 126u)) << 23u);
                sum_0 = sum_0 * less;
                sum_1 = sum_1 * less;
                sum_2 = sum_2 * less;
                sum_3 = sum_3 * less;
                low_0 = low_0 * less;
                low_1 = low_1 * less;
                low_2 = low_2 * less;
                low_3 = low_3 * less;
                top = now;
                scale = bitcast<f32>((267u - clamp(top, 38u, 254u)) << 23u) * MULTIPLE;
            }
            let factor = scales.x * scale;
            let least = scales.y * scale;
            let n = factors_of(unit, run);
            put4(to, n.v0 * factor + least);
            put4(to + 1u, n.v1 * factor + least);
            put4(to + 2u, n.v2 * factor + least);
            put4(to + 3u, n.v3 * factor + least);
            strays += select(0u, 16u, is_stray(factor / MULTIPLE, least));
            subgroupBarrier();
            for (var i = 0u; i < 2u; i++) {
                let step = run_at(first_unit + u + i, run) / 4u * BLOCK;
                let b_high = right(own + i * 4u);
                let b_low = right(own + PIECE * SPLIT_W + i * 4u);
                // The unit cuts off what it adds: little of the lower products, which are small; of the others sums of 16 are rounded.
                let a0_high = left(a_0 + step);
                if SPLIT == 1u {
                    let a0_low = left(a_0 + step + HALF);
                    low_0 = coopMultiplyAdd(a0_low, b_high, low_0);
                }
                if SPLIT_W == 1u {
                    low_0 = coopMultiplyAdd(a0_high, b_low, low_0);
                }
                let high_0 = coopMultiplyAdd(a0_high, b_high, coop_mat16x16<f32, C>());
                sum_0 = sum_0 + high_0;
                if LINES > 16u {
                    let a1_high = left(a_1 + step);
                    if SPLIT == 1u {
                        let a1_low = left(a_1 + step + HALF);
                        low_1 = coopMultiplyAdd(a1_low, b_high, low_1);
                    }
                    if SPLIT_W == 1u {
                        low_1 = coopMultiplyAdd(a1_high, b_low, low_1);
                    }
                    let high_1 = coopMultiplyAdd(a1_high, b_high, coop_mat16x16<f32, C>());
                    sum_1 = sum_1 + high_1;
                }
                if LINES > 32u {
                    let a2_high = left(a_2 + step);
                    if SPLIT == 1u {
                        let a2_low = left(a_2 + step + HALF);
                        low_2 = coopMultiplyAdd(a2_low, b_high, low_2);
                    }
                    if SPLIT_W == 1u {
                        low_2 = coopMultiplyAdd(a2_high, b_low, low_2);
                    }
                    let high_2 = coopMultiplyAdd(a2_high, b_high, coop_mat16x16<f32, C>());
                    sum_2 = sum_2 + high_2;
                }
                if LINES > 48u {
                    let a3_high = left(a_3 + step);
                    if SPLIT == 1u {
                        let a3_low = left(a_3 + step + HALF);
                        low_3 = coopMultiplyAdd(a3_low, b_high, low_3);
                    }
                    if SPLIT_W == 1u {
                        low_3 = coopMultiplyAdd(a3_high, b_low, low_3);
                    }
                    let high_3 = coopMultiplyAdd(a3_high, b_high, coop_mat16x16<f32, C>());
                    sum_3 = sum_3 + high_3;
                }
            }
            subgroupBarrier();
        }
    }

    let most = subgroupMax(strays);
    if live {
        let part = band * shares + share;
        let pitch = params.along * 16u;
        let first = part * LINES * pitch + along * 16u + subgroup * 4u;
        let all_0 = sum_0 + low_0 * LOW;
        coopStoreT(all_0, &out[first], pitch);
        if LINES > 16u {
            let all_1 = sum_1 + low_1 * LOW;
            let first_1 = first + 16u * pitch;
            coopStoreT(all_1, &out[first_1], pitch);
        }
        if LINES > 32u {
            let all_2 = sum_2 + low_2 * LOW;
            let first_2 = first + 32u * pitch;
            coopStoreT(all_2, &out[first_2], pitch);
        }
        if LINES > 48u {
            let all_3 = sum_3 + low_3 * LOW;
            let first_3 = first + 48u * pitch;
            coopStoreT(all_3, &out[first_3], pitch);
        }
        // Every band of x has the same rows of w.
        if band == 0u && lane == 0u {
            // Two invocations have parts of each row.
            let word = top | (min(2u * most, 0x3fffffu) << 8u);
            out_1[(share * params.along + along) * 4u + subgroup] = select(word, word | 0x80000000u, top == 255u);
        }
    }
}
