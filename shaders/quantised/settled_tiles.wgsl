// Part of products with blocks: a workgroup has 16 rows of x and 64 of w, for which it adds the sums that cooperative.wgsl leaves of each
// share. Only if x or w have what two f16 do not hold, and it matters, are they tiles that are multiplied here.
// Bindings: c (of x: see packed_rows.wgsl), in_98 (sums), in_99 (of w: see cooperative.wgsl).
// Requires: times_power (scaled_lines.wgsl), tile_memory.

@group(0) @binding(4) var<storage, read> c: array<u32>;
@group(0) @binding(5) var<storage, read> in_98: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> in_99: array<u32>;

// Rows of x in a band.
override BAND: u32 = 64u;
override TILES_ALONG: u32 = 64u / (TILES * OWN);

const FLAGGED: u32 = 0x80000000u;
// More than what is lost of a product where an element is known less exactly, over ε: of w 2^-25 by 2^15, of x 2^-36 by 2^15 and the product
// of both lower f16. Where numbers are one f16 each, it is over 2^-12.
override STRAY_W: f32 = 32768.0;
const STRAY_X: f32 = 16.0;

// Whether this invocation has sums that are not exact enough.
var<private> doubted: bool;

// Which of four columns there are, of a row.
fn existing(line: u32, col: u32) -> vec4<bool> {
    return vec4<bool>(line < params.m) & (vec4<u32>(col, col + 1u, col + 2u, col + 3u) < vec4<u32>(params.n));
}

// The sums of all shares, without their scales.
fn settled(line: u32, col: u32) -> vec4<f32> {
    let exists = existing(line, col);
    let pitch = params.along * 16u;
    let shares = params.units / params.share;
    let exponent = bitcast<i32>(c[2u * line]) - 140;
    let of_x = c[2u * line + 1u];
    var sums = vec4<f32>();
    for (var share = 0u; share < shares; share++) {
        let part = line / BAND * shares + share;
        let v = in_98[(part * BAND + line % BAND) * pitch + col / 4u];
        let of_w = in_99[share * params.along * 4u + col / 16u];
        let least = STRAY_X * f32(of_x & ~FLAGGED) + STRAY_W * f32((of_w >> 8u) & 0x3fffffu);
        let small = abs(v) < vec4<f32>(least);
        doubted = doubted || of_x >= FLAGGED || of_w >= FLAGGED || any(exists & small);
        sums += times_power(v, vec4<i32>(exponent + i32(of_w & 255u)));
    }
    return sums;
}

// Writes what is exact enough; how many tiles are left.
fn tiles_of(id: u32, lid: u32) -> u32 {
    let last = (params.m - 1u) / 16u;
    let line = min(id / params.along, last) * 16u + lid / 16u;
    let col = id % params.along * 64u + lid % 16u * 4u;
    let near = settled(line, col);
    let far = settled(line + 8u, col);
    let found = subgroupAny(doubted);
    if lid % 32u == 0u {
        tile_memory[lid / 32u] = vec4<f32>(select(0.0, 1.0, found));
    }
    workgroupBarrier();
    if lid == 0u {
        tile_memory[0] += tile_memory[1] + tile_memory[2] + tile_memory[3];
    }
    let flagged = workgroupUniformLoad(&tile_memory[0]).x > 0.0;
    let live = id / params.along <= last;
    if live && !flagged {
        let of_near = existing(line, col);
        let of_far = existing(line + 8u, col);
        let to = params.out_offset + line * params.n + col;
        for (var i = 0u; i < 4u; i++) {
            if of_near[i] {
                store1(to + i, out_elem(near[i]));
            }
            if of_far[i] {
                store1(to + 8u * params.n + i, out_elem(far[i]));
            }
        }
    }
    return select(0u, 16u / LINES * TILES_ALONG, live && flagged);
}

// The first row of x and the first of w of tile `i`.
fn tile_at(id: u32, i: u32) -> vec2<u32> {
    let within = vec2<u32>(i / TILES_ALONG * LINES, i % TILES_ALONG * TILES * OWN);
    return vec2<u32>(id / params.along * 16u, id % params.along * 64u) + within;
}
