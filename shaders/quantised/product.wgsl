// Computes: out[l, r] = sum over k of x[l, k] * w[r, k] for LINES rows of x and ROWS of w, which is in blocks. LANES invocations share
//           k, and a workgroup has as many such tiles as it has room for, along the rows of w, whose numbers are those of its blocks in f32.
// Bindings: params, a (the rows of x), 2 the blocks, 3 out.
// Grid: ceil(m / LINES) * along workgroups, folded, those along the rows of w innermost.
// Requires: words, unpack; blocks_at, word_at; RUNS, unit_at, run_at, run_of (format part); LINES, ROWS, Sums, add_run, put_sums (size part); store1.
// Accuracy: (k + 2) ε Σ|term| for the numbers that the blocks have, then one rounding to the dtype.

override WG: u32 = 128u;
// A power of two up to WG.
override LANES: u32 = 128u;

override TILES: u32 = WG / LANES;
override TOTALS: u32 = LINES * ROWS;
override SUMS: u32 = TOTALS * WG;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(3) var<storage, read_write> out: array<cell>;

// [line][row][tile][invocation]
var<workgroup> partial_sums: array<f32, SUMS>;

// A unit of each of four rows of w.
struct Units {
    r0: Unit,
    r1: Unit,
    r2: Unit,
    r3: Unit,
}

// A run of each of four rows of w.
struct Weights {
    r0: Run,
    r1: Run,
    r2: Run,
    r3: Run,
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
    return Weights(run_of(units.r0, run), run_of(units.r1, run), run_of(units.r2, run), run_of(units.r3, run));
}

// The run of a row of x whose first vector is at `at`.
fn input_of(line: u32, at: u32) -> Run {
    let first = (params.x_offset + min(line, params.m - 1u) * params.x_row) / 4u + at;
    return Run(unpack(a[first]), unpack(a[first + 1u]), unpack(a[first + 2u]), unpack(a[first + 3u]));
}

fn plus4(sum: f32, v: vec4<f32>, w: vec4<f32>) -> f32 {
    return sum + v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
}

fn plus(sum: f32, v: Run, w: Run) -> f32 {
    return plus4(plus4(plus4(plus4(sum, v.v0, w.v0), v.v1, w.v1), v.v2, w.v2), v.v3, w.v3);
}

fn times(sum: vec4<f32>, w: Weights, of_x: Run) -> vec4<f32> {
    return vec4<f32>(plus(sum.x, w.r0, of_x), plus(sum.y, w.r1, of_x), plus(sum.z, w.r2, of_x), plus(sum.w, w.r3, of_x));
}

fn put(total: u32, lid: u32, sums: vec4<f32>) {
    partial_sums[total * WG + lid] = sums.x;
    partial_sums[(total + 1u) * WG + lid] = sums.y;
    partial_sums[(total + 2u) * WG + lid] = sums.z;
    partial_sums[(total + 3u) * WG + lid] = sums.w;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = group.x + (group.y + group.z * groups.y) * groups.x;
    let line = (id / params.along) * LINES;
    let first = (id % params.along) * TILES * ROWS;
    let row = first + lid / LANES * ROWS;

    var sums = Sums();
    for (var i = lid % LANES; i < params.units; i += LANES) {
        let near = units_at(row, i);
        var far = Units();
        if ROWS > 4u {
            far = units_at(row + 4u, i);
        }
        for (var run = 0u; run < RUNS; run++) {
            var of_far = Weights();
            if ROWS > 4u {
                of_far = weights_of(far, run);
            }
            sums = add_run(sums, line, run_at(i, run), weights_of(near, run), of_far);
        }
    }
    put_sums(sums, lid);
    workgroupBarrier();
    // A fixed tree, whose pairs the invocations share.
    for (var step = LANES / 2u; step > 0u; step /= 2u) {
        for (var i = lid; i < TOTALS * TILES * step; i += WG) {
            let at = i / step * LANES + i % step;
            partial_sums[at] += partial_sums[at + step];
        }
        workgroupBarrier();
    }
    for (var i = lid; i < TOTALS * TILES; i += WG) {
        let total = i / TILES;
        let l = line + total / ROWS;
        let r = first + i % TILES * ROWS + total % ROWS;
        if l < params.m && r < params.n {
            store1(params.out_offset + l * params.n + r, out_elem(partial_sums[i * LANES]));
        }
    }
}
