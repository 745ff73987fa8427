// Computes: out[l, r] = sum over k of x[l, k] * w[r, k] for LINES rows of x and ROWS of w, which is in blocks; of a row of x that is
//           normalised before, if there is a norm. With GATED the first half of w's rows are gates of the second:
//           out[l, r] = silu(sum of row r) * sum of row n / 2 + r. LANES invocations share
//           k, and a workgroup has as many such tiles as it has room for, along the rows of w, whose numbers are those of its blocks in f32.
//           Invocations read 16 bytes of blocks each, whose elements of x are 64 to 256 bytes from one invocation to the next: where
//           several rows of x are multiplied, they go through workgroup memory, in which such steps can be free.
// Bindings: params, a (the rows of x), 2 the blocks, 3 out, that of the norm part.
// Grid: ceil(m / LINES) * along workgroups, folded, those along the rows of w innermost;
//       or along * ceil(m / 16) where matrix units have multiplied before.
// Requires: words, unpack; blocks_at, word_at; RUNS, unit_at, run_at, run_of, scales_of, factors_of, HAS_LEAST, MULTIPLE (format part);
//           LINES, ROWS, Sums, add_run, put_sums (size part); NORMED, weighted, factor_of (norm part); GATED, gated (gate part);
//           plus_runs (run part); tiles_of, tile_at (tile part); store1.
// Accuracy: (k + 2) ε Σ|term| for the numbers that the blocks have, where one to which something is added counts as two terms; then one
//           rounding to the dtype.

override WG: u32 = 128u;
// A power of two up to WG.
override LANES: u32 = 128u;

// Whether x goes through workgroup memory.
override STAGED: bool = true;
// Whether the next units are on their way while some are multiplied.
override AHEAD: bool = true;

override TILES: u32 = WG / LANES;
override SUMS: u32 = LINES * ROWS;
// With the squares of a norm, of which there is one row.
override TOTALS: u32 = SUMS + select(0u, 1u, NORMED);
// Columns of the result that a tile has.
override OWN: u32 = select(ROWS, 4u, GATED);
// Invocations of a tile whose sums are added first.
override STEP: u32 = min(LANES, 8u);

// Vectors of a row of x that belong to a unit, and to one unit of each invocation of a tile.
const UNIT: u32 = RUNS * 4u;
override CHUNK: u32 = LANES * UNIT;
override CHUNKS: u32 = LINES * CHUNK;
// Vectors of workgroup memory: 2 * CHUNKS of x, later a quarter of TOTALS * WG.
override MEMORY: u32 = 1024u;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(3) var<storage, read_write> out: array<cell>;

// Of x [line][vector], then of sums [line][row][tile][invocation].
var<workgroup> tile_memory: array<vec4<f32>, MEMORY>;

// Which rows of x and which of their units a step multiplies, and where these are in workgroup memory.
struct At {
    line: u32,
    start: u32,
    half: u32,
}

// A unit of each of four rows of w.
struct Units {
    r0: Unit,
    r1: Unit,
    r2: Unit,
    r3: Unit,
}

// A run of each of four rows of w: scale * factors + least, of MULTIPLE times x.
struct Weights {
    r0: Run,
    r1: Run,
    r2: Run,
    r3: Run,
    scale: vec4<f32>,
    least: vec4<f32>,
}

// What stands in for rows behind the last is never stored.
fn units_at(row: u32, i: u32) -> Units {
    let last = params.n - 1u;
    return Units(
        unit_at(min(row, last) * params.units + i),
        unit_at(min(row + 1u, last) * params.units + i),
        unit_at(min(row + 2u, last) * params.units + i),
        unit_at(min(row + 3u, last) * params.units + i),
    );
}

fn weights_of(units: Units, run: u32) -> Weights {
    let s0 = scales_of(units.r0, run);
    let s1 = scales_of(units.r1, run);
    let s2 = scales_of(units.r2, run);
    let s3 = scales_of(units.r3, run);
    return Weights(
        factors_of(units.r0, run),
        factors_of(units.r1, run),
        factors_of(units.r2, run),
        factors_of(units.r3, run),
        vec4<f32>(s0.x, s1.x, s2.x, s3.x),
        vec4<f32>(s0.y, s1.y, s2.y, s3.y),
    );
}

// Where vector `i` of a chunk is: another order in each 128 bytes, so that invocations whose vectors are 128 bytes apart use
// different banks.
fn place_of(i: u32) -> u32 {
    return i ^ ((i >> 3u) & 7u);
}

// Vector `i` of a row of x.
fn vector_of(line: u32, i: u32) -> vec4<f32> {
    return unpack(a[(params.x_offset + min(line, params.m - 1u) * params.x_row) / 4u + i]);
}

fn multiple_of(line: u32, i: u32) -> vec4<f32> {
    return vector_of(line, i) * MULTIPLE;
}

// The vectors of x from unit `first` on that are in workgroup memory next.
fn bring(line: u32, first: u32, half: u32, lid: u32) {
    let left = (params.units - min(first, params.units)) * UNIT;
    for (var i = lid; i < min(CHUNK, left); i += WG) {
        for (var l = 0u; l < LINES; l++) {
            tile_memory[half + l * CHUNK + place_of(i)] = multiple_of(line + l, first * UNIT + i);
        }
    }
}

// MULTIPLE times the run of a row of x whose first vector in the chunk is `at`.
fn input_of(place: At, line: u32, at: u32) -> Run {
    var run = Run();
    if STAGED {
        let first = place.half + line * CHUNK;
        run = Run(
            tile_memory[first + place_of(at)],
            tile_memory[first + place_of(at + 1u)],
            tile_memory[first + place_of(at + 2u)],
            tile_memory[first + place_of(at + 3u)],
        );
    } else {
        let first = place.start * UNIT + at;
        let l = place.line + line;
        run = Run(multiple_of(l, first), multiple_of(l, first + 1u), multiple_of(l, first + 2u), multiple_of(l, first + 3u));
    }
    return run;
}

fn plus4(sum: f32, v: vec4<f32>, w: vec4<f32>) -> f32 {
    return sum + v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
}

// Two sums, so that not each term waits for the one before.
fn dot_of(v: Run, n: Run) -> f32 {
    let first = plus4(plus4(0.0, v.v0, n.v0), v.v1, n.v1);
    return first + plus4(plus4(0.0, v.v2, n.v2), v.v3, n.v3);
}

fn times(sum: vec4<f32>, w: Weights, of_x: Run) -> vec4<f32> {
    let dots = vec4<f32>(dot_of(of_x, w.r0), dot_of(of_x, w.r1), dot_of(of_x, w.r2), dot_of(of_x, w.r3));
    var next = sum + w.scale * dots;
    if HAS_LEAST {
        let total = of_x.v0 + of_x.v1 + of_x.v2 + of_x.v3;
        next += w.least * (total.x + total.y + total.z + total.w);
    }
    return next;
}

// What an invocation sums, of x in memory and of the numbers as the format defines them.
fn careful_sum(line: u32, row: u32, lane: u32) -> f32 {
    let first = min(row, params.n - 1u) * params.units;
    var sum = 0.0;
    for (var i = lane; i < params.units; i += LANES) {
        let unit = unit_at(first + i);
        for (var run = 0u; run < RUNS; run++) {
            let n = run_of(unit, run);
            let at = run_at(i, run);
            let given = Run(vector_of(line, at), vector_of(line, at + 1u), vector_of(line, at + 2u), vector_of(line, at + 3u));
            let x = weighted(given, at);
            sum = plus4(plus4(sum, x.v0, n.v0), x.v1, n.v1);
            sum = plus4(plus4(sum, x.v2, n.v2), x.v3, n.v3);
        }
    }
    return sum;
}

fn sum_at(i: u32) -> f32 {
    return tile_memory[i / 4u][i % 4u];
}

fn set_sum(i: u32, sum: f32) {
    tile_memory[i / 4u][i % 4u] = sum;
}

// Columns of the result.
fn columns() -> u32 {
    return select(params.n, params.n / 2u, GATED);
}

// The row of w of a sum of a tile whose first column is `row`.
fn row_of(row: u32, i: u32) -> u32 {
    return row + select(i, columns() + i - 4u, GATED && i >= 4u);
}

// Sum `i` of the invocations of a tile.
fn tile_sum(i: u32) -> f32 {
    var sum = sum_at(i * LANES);
    for (var part = STEP; part < LANES; part += STEP) {
        sum += sum_at(i * LANES + part);
    }
    return sum;
}

// The sum of STEP invocations of a tile, which begin at `at`. Infinities and NaN, also where sums of integers overflow, are those of the
// numbers themselves.
fn sum_of_some(at: u32, line: u32, first: u32) -> f32 {
    var sum = sum_at(at);
    if STEP == 8u {
        let four = tile_memory[at / 4u] + tile_memory[at / 4u + 1u];
        sum = four.x + four.y + (four.z + four.w);
    } else {
        for (var i = 1u; i < STEP; i++) {
            sum += sum_at(at + i);
        }
    }
    let total = at / WG;
    if total < SUMS && (bitcast<u32>(sum) & 0x7f800000u) == 0x7f800000u {
        let row = row_of(first + at % WG / LANES * OWN, total % ROWS);
        sum = 0.0;
        for (var i = 0u; i < STEP; i++) {
            sum += careful_sum(line + total / ROWS, row, at % LANES + i);
        }
    }
    return sum;
}

fn put(total: u32, lid: u32, sums: vec4<f32>) {
    set_sum(total * WG + lid, sums.x);
    set_sum((total + 1u) * WG + lid, sums.y);
    set_sum((total + 2u) * WG + lid, sums.z);
    set_sum((total + 3u) * WG + lid, sums.w);
}

// The sums with run `run` of the units of an invocation.
fn plus_run(sums: Sums, place: At, lane: u32, near: Units, far: Units, run: u32) -> Sums {
    var of_far = Weights();
    if ROWS > 4u {
        of_far = weights_of(far, run);
    }
    return add_run(sums, place, run_at(lane, run), weights_of(near, run), of_far);
}

// The tile whose first rows of x and of w these are.
fn multiply(line: u32, first: u32, lid: u32) {
    let row = first + lid / LANES * OWN;
    let far_row = row_of(row, 4u);

    var sums = Sums();
    let lane = lid % LANES;
    let last = params.units - 1u;
    var near = Units();
    var far = Units();
    if AHEAD {
        near = units_at(row, min(lane, last));
        if ROWS > 4u {
            far = units_at(far_row, min(lane, last));
        }
    }
    if STAGED {
        bring(line, 0u, 0u, lid);
    }
    var half = 0u;
    for (var start = 0u; start < params.units; start += LANES) {
        if STAGED {
            workgroupBarrier();
        }
        // Behind the last units come the last once more.
        let next = min(start + select(0u, LANES, AHEAD) + lane, last);
        let next_near = units_at(row, next);
        var next_far = Units();
        if ROWS > 4u {
            next_far = units_at(far_row, next);
        }
        if !AHEAD {
            near = next_near;
            far = next_far;
        }
        if STAGED {
            bring(line, start + LANES, CHUNKS - half, lid);
        }
        if start + lane < params.units {
            sums = plus_runs(sums, At(line, start, half), lane, near, far);
        }
        if AHEAD {
            near = next_near;
            far = next_far;
        }
        half = CHUNKS - half;
    }
    if STAGED {
        workgroupBarrier();
    }
    put_sums(sums, lid);
    // A fixed order: the sums of some invocations, then those of these.
    workgroupBarrier();
    for (var i = lid; i < TOTALS * WG / STEP; i += WG) {
        set_sum(i * STEP, sum_of_some(i * STEP, line, first));
    }
    workgroupBarrier();
    for (var i = lid; i < LINES * OWN * TILES; i += WG) {
        let tile = i % TILES;
        let own = i / TILES;
        let l = line + own / OWN;
        let r = first + tile * OWN + own % OWN;
        if l < params.m && r < columns() {
            var factor = 1.0;
            if NORMED {
                factor = factor_of(tile_sum(SUMS * TILES + tile), params.units * UNIT * 4u);
            }
            var value = tile_sum(own * TILES + tile) * factor;
            if GATED {
                value = gated(value, tile_sum((own + 4u) * TILES + tile) * factor);
            }
            store1(params.out_offset + l * columns() + r, out_elem(value));
        }
    }
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = group.x + (group.y + group.z * groups.y) * groups.x;
    let tiles = tiles_of(id, lid);
    for (var i = 0u; i < tiles; i++) {
        if i > 0u {
            // Sums of the tile before are read.
            workgroupBarrier();
        }
        let at = tile_at(id, i);
        multiply(at.x, at.y, lid);
    }
}
