// Computes: a batch of matrix products with few rows: every invocation multiplies 4 x 4 blocks of b with LINES rows of a, and
//           SLICES invocations of a workgroup share the columns and split k.
// Bindings: params, a, b, out (declared by the operand and output parts).
// Grid: batch * tiles_m * tiles_n workgroups, folded, tiles along m innermost: those that read the same columns of b follow each other.
// Requires: batches, Operands, operands, fetch_a4, block_b (0 outside), emit4; LINES, BLOCKS, Totals, add_block, finish (size part).
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

// Four columns each, and parts of k: their product is WG.
override VEC4: u32 = 8u;
override SLICES: u32 = 32u;
// 1: neighbouring invocations take neighbours along k; 0: along the columns.
override B_ALONG_DEPTH: u32 = 0u;

override PARTS: u32 = WG * 4u;

// [row of four][slice][columns / 4]
var<workgroup> partial_sums: array<vec4<acc>, PARTS>;

// Sums of four rows.
struct Four {
    r0: vec4<acc>,
    r1: vec4<acc>,
    r2: vec4<acc>,
    r3: vec4<acc>,
}

fn times(a: vec4<acc>, b: Block, sum: vec4<acc>) -> vec4<acc> {
    return sum + a.x * b.k0 + a.y * b.k1 + a.z * b.k2 + a.w * b.k3;
}

// The rows of a from `row` on, of which `at` is the first, times a block at k.
fn add_four(sum: Four, at: Operands, row: u32, k: u32, b: Block) -> Four {
    var next = sum;
    next.r0 = times(fetch_a4(at, row, k), b, sum.r0);
    if LINES > 1u {
        next.r1 = times(fetch_a4(Operands(at.a + params.a_row, at.b), row + 1u, k), b, sum.r1);
    }
    if LINES > 2u {
        next.r2 = times(fetch_a4(Operands(at.a + 2u * params.a_row, at.b), row + 2u, k), b, sum.r2);
        next.r3 = times(fetch_a4(Operands(at.a + 3u * params.a_row, at.b), row + 3u, k), b, sum.r3);
    }
    return next;
}

// Which sums an invocation has: those of a vector of columns in a slice of k.
struct Place {
    batch: u32,
    row: u32,
    col: u32,
    vector: u32,
    slice: u32,
    live: bool,
}

// Adds the slices of four rows in a fixed tree and writes them; the rows begin `down` below those of the workgroup.
fn finish_four(sum: Four, to: Place, down: u32) {
    let here = to.slice * VEC4 + to.vector;
    partial_sums[here] = sum.r0;
    partial_sums[WG + here] = sum.r1;
    partial_sums[2u * WG + here] = sum.r2;
    partial_sums[3u * WG + here] = sum.r3;
    workgroupBarrier();
    for (var s = SLICES / 2u; s > 0u; s /= 2u) {
        if to.slice < s {
            let there = here + s * VEC4;
            partial_sums[here] = partial_sums[here] + partial_sums[there];
            if LINES > 1u {
                partial_sums[WG + here] = partial_sums[WG + here] + partial_sums[WG + there];
            }
            if LINES > 2u {
                partial_sums[2u * WG + here] = partial_sums[2u * WG + here] + partial_sums[2u * WG + there];
                partial_sums[3u * WG + here] = partial_sums[3u * WG + here] + partial_sums[3u * WG + there];
            }
        }
        workgroupBarrier();
    }
    if to.live && to.slice < min(LINES, 4u) {
        emit4(to.batch, to.row + down + to.slice, to.col, partial_sums[to.slice * WG + to.vector]);
    }
    workgroupBarrier();
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let tile_m = id % params.tiles_m;
    let tile_n = (id / params.tiles_m) % params.tiles_n;
    let batch = id / params.tiles_m / params.tiles_n;
    let live = batch < batches();
    var vector = lid % VEC4;
    var slice = lid / VEC4;
    if B_ALONG_DEPTH == 1u {
        vector = lid / SLICES;
        slice = lid % SLICES;
    }
    let row = tile_m * LINES;
    let col = (tile_n * VEC4 + vector) * 4u;
    let at = operands(select(0u, batch, live), row, col);

    var totals = Totals();
    for (var k = slice * 4u; k < params.k; k += SLICES * 4u * BLOCKS) {
        let b = block_b(at, k, col);
        if BLOCKS == 2u {
            let further = k + SLICES * 4u;
            let other = block_b(at, further, col);
            totals = add_block(totals, at, row, k, b);
            totals = add_block(totals, at, row, further, other);
        } else {
            totals = add_block(totals, at, row, k, b);
        }
    }
    finish(totals, Place(batch, row, col, vector, slice, live));
}
